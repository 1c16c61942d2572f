//! The registry: the features of a server and their registration.

mod access_options;
mod app;
mod category;
mod completers;
mod completion;
mod descriptor_members;
mod feature_scopes;
mod hook;
mod list;
mod listed_tools;
mod mount;
mod prompt;
mod register_error;
mod request_handler;
mod resource;
mod skill;
mod snapshot;
mod tool;

pub use access_options::AccessOptions;
pub use category::Category;
pub use completion::{CompletionDefinition, CompletionTarget};
pub use hook::{MiddlewareDefinition, ProviderDefinition};
pub use prompt::{PromptDefinition, PromptOptions};
pub use register_error::{OnDuplicate, RegisterError};
pub use request_handler::{RequestHandlerDefinition, RequestHandlerOptions};
pub use resource::{ResourceDefinition, ResourceOptions, ResourceTemplateDefinition, ResourceTemplateOptions};
pub use skill::{SkillDefinition, SkillFile, SkillOptions};
pub use tool::{ToolDefinition, ToolOptions};

pub use crate::protocol::model::TaskSupport;
pub(super) use access_options::access_setters;
pub use category::ListSet;
pub(super) use hook::{RegisteredMiddleware, RegisteredProvider};
pub(super) use list::{List, ListCandidate, Listed, ListedPage, list_members};
pub use listed_tools::ListedSchema;
pub(crate) use mount::MountSource;
pub(super) use mount::{LocalServer, RegisteredMount};
pub use mount::{Offers, RemoteDescription, RemoteServer};
pub(super) use prompt::RegisteredPrompt;
pub(super) use request_handler::RegisteredRequestHandler;
pub(super) use resource::{ReadInfo, RegisteredTemplate, template_setters};
pub(super) use snapshot::{Addition, Change, Reader, Readers, Snapshot};
pub use tool::ToolTasks;
pub(super) use tool::{RegisteredTool, tool_setters};

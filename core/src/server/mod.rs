//! Servers: builder, registry, handlers and their context.

mod builder;
mod directory;
mod facade;
mod feature_handle;
mod handlers;
mod media_type;
mod methods;
mod options;
mod registry;
mod request;
mod result;
mod scopes;
mod session;
pub(crate) mod typed;

#[cfg(test)]
mod tests;

pub use crate::engine::RequestInfo;
pub use builder::ServerBuilder;
pub use directory::DirectoryDefinition;
pub use facade::Server;
pub use feature_handle::FeatureHandle;
pub use handlers::{
    Call, CallInfo, ClientRequestError, Handler, InputRequest, InputRequired, Outcome, PendingClientRequest, Vars,
};
#[cfg(feature = "http-server")]
pub use handlers::{HttpRequest, RemoteAddress};
pub use options::ServerOptions;
pub use registry::{
    Category, CompletionDefinition, CompletionTarget, MiddlewareDefinition, OnDuplicate, PromptDefinition,
    ProviderDefinition, RegisterError, ResourceDefinition, ResourceTemplateDefinition, TaskSupport, ToolDefinition,
};
#[cfg(feature = "skills")]
pub use registry::{SkillDefinition, SkillFile};
pub use request::StateKey;
pub use result::{CacheHints, CacheScope};
pub use session::{ErrorInfo, Outbound, OutgoingMessage};
pub use typed::{
    AsyncHandler, CallError, Context, FromContext, FromRef, IntoCompletionResult, IntoDecision, IntoDefinition,
    IntoPromptResult, IntoResourceResult, IntoResultOf, IntoToolResult, Json, ListItem, Next, OutputSchema, Page,
    Params, Prompt, PromptRequest, Provided, Provider, Resource, ResourceRequest, ResourceTemplate, State, Tool,
    ToolError, ToolRequest,
};

pub(crate) use facade::WeakServer;
pub(crate) use handlers::Arrival;
#[cfg(feature = "http-server")]
#[doc(hidden)]
pub use handlers::Cause;
pub(crate) use registry::{ListSet, MountSource, Offers, RemoteServer};
pub(crate) use session::{Arriving, Connection, ConversationStart, Origin};

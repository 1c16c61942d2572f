//! Servers: builder, registry, handlers and their context.

#[cfg(feature = "directories")]
mod directory;
mod feature_handle;
mod handlers;
mod lifespan;
mod media_type;
mod methods;
pub(crate) mod open_folder;
mod proxy;
mod registry;
mod request;
mod result;
#[expect(clippy::module_inception, reason = "the server itself, next to its parts")]
mod server;
mod server_builder;
mod server_hooks;
mod server_options;
mod session;
pub(crate) mod typed;

#[cfg(test)]
mod tests;

pub use crate::engine::RequestInfo;
#[cfg(feature = "directories")]
pub use directory::{DirectoryDefinition, DirectoryOptions};
pub use feature_handle::FeatureHandle;
pub use handlers::{
    Call, CallError, CallInfo, ClientRequest, ClientRequestError, Handler, InputRequest, InputRequired, Outcome,
    PendingClientRequest, ToolError, Vars,
};
#[cfg(feature = "http-server")]
pub use handlers::{HttpRequest, RemoteAddress};
#[doc(hidden)]
pub use lifespan::{LifespanFunctions, LifespanUse};
pub use proxy::{IntoProxy, Proxy};
pub use registry::{
    AccessOptions, Category, CompletionDefinition, CompletionTarget, MiddlewareDefinition, OnDuplicate,
    PromptDefinition, PromptOptions, ProviderDefinition, RegisterError, RequestHandlerDefinition,
    RequestHandlerOptions, ResourceDefinition, ResourceOptions, ResourceTemplateDefinition, ResourceTemplateOptions,
    SkillOptions, TaskSupport, ToolDefinition, ToolOptions,
};
#[cfg(feature = "skills")]
pub use registry::{SkillDefinition, SkillFile};
pub use request::StateKey;
pub use result::{CacheHints, CacheScope};
pub use server::Server;
pub use server_builder::ServerBuilder;
pub use server_options::ServerOptions;
#[doc(hidden)]
pub use session::TestSession;
pub use session::{ErrorInfo, HandlerFailure, Outbound, OutgoingMessage};
pub use typed::{
    AsyncHandler, Context, Elicited, FromContext, FromRef, HandlerArguments, HandlerOf, IntoDefinition, IntoResult,
    Json, Lifespan, ListItem, Next, OutputSchema, Page, Params, Prompt, PromptRequest, Provided, Provider, Resource,
    ResourceRequest, ResourceTemplate, State, Tool, ToolRequest,
};

pub(crate) use handlers::Arrival;
#[cfg(feature = "http-server")]
pub(crate) use handlers::SessionSource;
#[doc(hidden)]
pub use handlers::TaskTimes;
#[cfg(all(feature = "auth", feature = "http-server"))]
pub(crate) use handlers::VerifiedSender;
#[doc(hidden)]
pub use registry::{ListSet, ListedSchema, Offers, RemoteDescription, RemoteServer, ToolTasks};
#[doc(hidden)]
pub use server::WeakServer;
pub(crate) use session::{
    Announce, Announcement, ArrivalReply, Connection, ConversationSetup, ConversationStart, Origin,
    PendingNotifications, SessionChange, SharedState,
};

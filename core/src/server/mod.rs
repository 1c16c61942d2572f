//! Servers: builder, registry, handlers and their context.

mod builder;
mod context;
mod facade;
mod handler;
mod handlers;
mod hooks;
mod methods;
mod options;
mod random;
mod registry;
mod request;
mod result;
mod scopes;
mod session;
pub(crate) mod typed;

#[cfg(test)]
mod tests;

pub use builder::ServerBuilder;
pub use context::Context;
pub use facade::Server;
pub use handler::Handler;
pub use handlers::{Call, CallInfo, ClientRequestError, InputRequest, InputRequired, Outcome, PendingClientRequest};
pub use hooks::{IntoResultOf, Next, Page, PromptRequest, Provided, Provider, ResourceRequest, ToolRequest};
pub use options::ServerOptions;
pub use registry::{
    Category, CompletionEntry, CompletionTarget, MiddlewareEntry, PromptEntry, ProviderEntry, RegisterError,
    Registration, ResourceEntry, ResourceTemplateEntry, SkillEntry, SkillFile, TaskSupport, ToolEntry,
};
pub use request::StateKey;
pub use result::{CacheHints, CacheScope};
pub use session::{Failure, Outbound, Outgoing};
pub use typed::{
    AsyncHandler, CallError, FromContext, FromRef, IntoCompletionResult, IntoEntry, IntoPromptResult,
    IntoResourceResult, IntoToolResult, Json, ListItem, OutputSchema, Params, Prompt, Resource, ResourceTemplate,
    State, Tool, ToolError,
};

pub(crate) use session::{Connection, Opening, Origin};

pub use CallInfo as CallFacts;
pub use ClientRequestError as AskError;
pub use PendingClientRequest as Asking;

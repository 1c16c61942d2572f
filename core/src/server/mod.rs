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
mod typed;

#[cfg(test)]
mod tests;

pub use builder::ServerBuilder;
pub use context::Context;
pub use facade::Server;
pub use handler::Handler;
pub use handlers::{
    Call, CallInfo, ClientRequestError, InputRequest, InputRequired, Outcome, PendingClientRequest, ToolError,
};
pub use hooks::{Next, Provider};
pub use options::ServerOptions;
pub use registry::{
    Category, CompletionEntry, CompletionTarget, MiddlewareEntry, PromptEntry, ProviderEntry, RegisterError,
    Registration, ResourceEntry, ResourceTemplateEntry, SkillEntry, SkillFile, TaskSupport, ToolEntry,
};
pub use request::StateKey;
pub use result::{CacheHints, CacheScope};
pub use session::{Failure, Outbound, Outgoing};
pub use typed::{AsyncHandler, CallError, IntoOutcome, Params};

pub(crate) use session::{Connection, Opening, Origin};

pub use CallInfo as CallFacts;
pub use ClientRequestError as AskError;
pub use PendingClientRequest as Asking;
/// The paths that the typed API still has.
mod call {
    pub(super) use super::handlers::{Call, CallInfo as CallFacts};
}
mod asking {
    pub(super) use super::handlers::ResponseCallback as Asked;
}
mod outcome {
    pub(super) use super::handlers::Outcome;
}

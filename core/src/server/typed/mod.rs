//! Typed handlers: async functions whose argument types define the input schema, and whose return
//! type the output schema.

pub(crate) mod busy_threads;
mod context;
mod definitions;
mod extract;
mod form;
mod handler;
mod hooks;
mod requests;
pub mod result;
mod returns;
mod schema;
mod serve;

pub use context::Context;
pub use definitions::{IntoDefinition, Prompt, Resource, ResourceTemplate, Tool};
pub use extract::{FromContext, FromRef, Lifespan, Params, State};
pub use form::Elicited;
pub use handler::{AsyncHandler, HandlerArguments};
pub use hooks::{IntoResultOf, Next, Page, PromptRequest, Provided, Provider, ResourceRequest, ToolRequest};
pub use requests::IntoRequestResult;
pub use returns::{
    IntoCompletionResult, IntoDecision, IntoPromptResult, IntoResourceResult, IntoToolResult, Json, ListItem,
};
pub use schema::OutputSchema;

pub(super) use definitions::completion;
pub(super) use requests::request_handler;

//! Typed handlers: async functions whose argument types define the input schema, and whose return
//! type the output schema.

mod async_handler;
pub(crate) mod busy_threads;
mod context;
mod definitions;
mod extract;
mod hooks;
mod request_handlers;
pub mod result;
mod returns;
mod schema;
mod serve_async;
mod typed_form;

pub use async_handler::{AsyncHandler, HandlerArguments, HandlerOf};
pub use context::Context;
pub use definitions::{IntoDefinition, Prompt, Resource, ResourceTemplate, Tool};
pub use extract::{FromContext, FromRef, Lifespan, Params, State};
pub use hooks::{Next, Page, PromptRequest, Provided, Provider, ResourceRequest, ToolRequest};
pub use returns::{IntoResult, Json, ListItem};
pub use schema::OutputSchema;
pub use typed_form::Elicited;

pub(super) use definitions::completion;
pub(super) use request_handlers::request_handler;

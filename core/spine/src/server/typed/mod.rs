//! Typed handlers: async functions whose argument types define the input schema, and whose return
//! type the output schema.

mod async_handler;
pub(crate) mod busy_threads;
mod context;
mod definitions;
mod derived_schema;
mod extract;
mod hooks;
mod into_result;
pub mod result;
mod serve_async;
mod typed_form;

pub use async_handler::{AsyncHandler, HandlerArguments, HandlerOf};
pub use context::Context;
pub use definitions::{IntoDefinition, Prompt, Resource, ResourceTemplate, Tool};
pub use derived_schema::OutputSchema;
pub use extract::{FromContext, FromRef, Lifespan, Params, State};
pub use hooks::{Next, Page, PromptRequest, Provided, Provider, ResourceRequest, ToolRequest};
pub use into_result::{IntoResult, Json, ListItem};
pub use typed_form::Elicited;

pub(super) use definitions::completion;
pub(super) use hooks::request_handler;

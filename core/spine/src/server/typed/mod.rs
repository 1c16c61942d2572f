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

pub mod result {
    //! The result type of handlers that use `?` on any error.

    use crate::server::handlers::CallError;

    /// A result whose error type accepts any error through `?`.
    ///
    /// ```
    /// use trunkline::Server;
    ///
    /// async fn notes() -> trunkline::Result<String> {
    ///     Ok(std::fs::read_to_string("notes.txt")?)
    /// }
    ///
    /// let server = Server::builder("notes", "1.0.0").tool("notes", "Read all notes.", notes).build();
    /// ```
    pub type Result<T, E = CallError> = std::result::Result<T, E>;

    /// `Ok` of a [`Result`], for closures: `async move { let text = read()?; trunkline::Ok(text) }`
    /// fixes the error type for `?`.
    #[allow(non_snake_case, reason = "it stands for a variant")]
    pub fn Ok<T>(value: T) -> Result<T> {
        std::result::Result::Ok(value)
    }
}

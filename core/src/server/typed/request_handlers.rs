//! Handlers of custom requests as async code.

use super::{AsyncHandler, HandlerArguments, Json, definitions::whole_input, serve_async::serve};
use crate::{
    protocol::{RawJson, model::JsonObject},
    server::{Outcome, RequestHandlerDefinition, ToolError},
};
use serde::Serialize;
use serde_json::Value;
use std::future::Future;

/// A value that can be the result of a custom request: a JSON object.
///
/// | type | result |
/// | --- | --- |
/// | [`Json`] of a struct or map, [`JsonObject`], [`Value`] | the object; another value is an internal error |
/// | `()` | an empty object |
/// | `Result<T, E>` where E converts into [`ToolError`] | that of T, or a JSON-RPC error |
///
/// ```
/// use trunkline::{CallError, Server, protocol::model::JsonObject};
///
/// let server = Server::builder("locks", "1.0.0")
///     .request_handler("com.acme/unlock", async || -> Result<JsonObject, CallError> { Ok(JsonObject::new()) })
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "a request handler cannot return `{Self}`",
    note = "the result of a request is an object: `Json(value)` where the value has Serialize, `JsonObject`, `Value`, `()`, or a `Result` of one",
    note = "the error of a `Result` must convert into `ToolError`; `trunkline::CallError` converts from any error with `?`"
)]
pub trait IntoRequestResult {
    /// Converts the value into the outcome of a call.
    fn into_request_result(self) -> Outcome;
}

fn value(value: &impl Serialize) -> Outcome {
    RawJson::from_value(value).map_or_else(|error| Outcome::Internal(error.to_string()), Outcome::Value)
}

impl<T: Serialize> IntoRequestResult for Json<T> {
    fn into_request_result(self) -> Outcome {
        value(&self.0)
    }
}

impl IntoRequestResult for JsonObject {
    fn into_request_result(self) -> Outcome {
        value(&self)
    }
}

impl IntoRequestResult for Value {
    fn into_request_result(self) -> Outcome {
        value(&self)
    }
}

impl IntoRequestResult for () {
    fn into_request_result(self) -> Outcome {
        value(&self)
    }
}

impl<T: IntoRequestResult, E: Into<ToolError>> IntoRequestResult for Result<T, E> {
    fn into_request_result(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_request_result)
    }
}

impl RequestHandlerDefinition {
    /// A handler that is an async function. The schema of the params comes from its
    /// [`super::Params`].
    ///
    /// ```
    /// use trunkline::{Context, Json, Server, server::RequestHandlerDefinition};
    ///
    /// let whoami = RequestHandlerDefinition::from_fn("com.acme/whoami", async |ctx: Context| {
    ///     Json(serde_json::json!({"client": ctx.client_info().map(|client| client.name)}))
    /// });
    /// let server = Server::builder("people", "1.0.0").build();
    /// server.add_request_handler(whoami.scopes(["people:read"]))?;
    /// # Ok::<(), trunkline::server::RegisterError>(())
    /// ```
    pub fn from_fn<M, H>(method: impl Into<String>, handler: H) -> Self
    where
        H: AsyncHandler<M, Arguments: HandlerArguments<()>> + Send + Sync + 'static,
        H::Future: Future<Output: IntoRequestResult> + Send + 'static,
    {
        request_handler(method, handler, ())
    }
}

/// A handler together with its state.
pub(in crate::server) fn request_handler<S, M, H>(
    method: impl Into<String>,
    handler: H,
    state: S,
) -> RequestHandlerDefinition
where
    H: AsyncHandler<M, Arguments: HandlerArguments<S>> + Send + Sync + 'static,
    H::Future: Future<Output: IntoRequestResult> + Send + 'static,
    S: Send + Sync + 'static,
{
    let entry = RequestHandlerDefinition::new(
        method,
        serve(handler, state, whole_input, IntoRequestResult::into_request_result),
    );
    match H::Arguments::input_schema() {
        Some(schema) => entry.params_schema(schema),
        None => entry,
    }
}

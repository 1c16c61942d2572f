//! Handlers of custom requests as async code.

use super::{HandlerArguments, HandlerOf, serve_async::serve};
use crate::{protocol::model::JsonObject, server::RequestHandlerDefinition};

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
    pub fn from_fn<M>(method: impl Into<String>, handler: impl HandlerOf<JsonObject, M, ()>) -> Self {
        request_handler(method, handler, ())
    }
}

/// A handler together with its state.
pub(in crate::server) fn request_handler<M, S: Send + Sync + 'static, H: HandlerOf<JsonObject, M, S>>(
    method: impl Into<String>,
    handler: H,
    state: S,
) -> RequestHandlerDefinition {
    let entry = RequestHandlerDefinition::new(method, serve(handler, state));
    H::Arguments::input_schema().into_iter().fold(entry, RequestHandlerDefinition::params_schema)
}

//! Errors of client handlers.

use crate::{error_text::with_causes, protocol::RpcError};
use std::{error::Error, fmt};

/// Why a handler failed. Every error type converts into it with `?`; the server then gets a generic
/// message, and the error with its causes is logged.
///
/// ```
/// use trunkline::{
///     Client,
///     client::{ElicitRequest, HandlerError},
///     protocol::model::ElicitResult,
/// };
///
/// async fn ask(_: ElicitRequest) -> Result<ElicitResult, HandlerError> {
///     let name = std::fs::read_to_string("name.txt")?;
///     Ok(ElicitResult::accept([("name".to_owned(), name.into())].into_iter().collect()))
/// }
///
/// let client = Client::builder().on_elicit(ask);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerError(RpcError);

impl HandlerError {
    /// The user declined.
    pub fn rejected(text: impl Into<String>) -> Self {
        Self(RpcError::new(-1, text))
    }

    /// A JSON-RPC error, sent unchanged.
    pub fn new(error: RpcError) -> Self {
        Self(error)
    }

    pub(in crate::client) fn into_rpc(self) -> RpcError {
        self.0
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let text = with_causes(&error);
        tracing::error!(target: "trunkline::client::handlers", error = text, "a handler of the client failed");
        Self(RpcError::internal())
    }
}

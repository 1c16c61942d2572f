//! Return values of handlers.

use super::{
    input::InputRequired,
    tool_error::{CallError, Reason, ToolError, VisibleError},
};
use crate::protocol::{RawJson, RpcError};
use std::sync::Arc;

/// The outcome of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// A string: one text block of a tool, the contents of a resource, or one user message.
    Text(String),
    /// Content, one part or an array: content blocks of a tool, ResourceContents of a resource,
    /// PromptMessages (or content blocks, as messages of the user) of a prompt.
    Content(RawJson),
    /// A JSON object: its text, and for tools the object as structured content.
    Object(RawJson),
    /// Any JSON value: its text, and for tools `{"result": value}` as structured content. `null` of
    /// a tool without an output schema leaves the content empty.
    Value(RawJson),
    /// A full result.
    Result(RawJson),
    /// Input from the client is needed; then the handler is called again, with the answers and its
    /// state.
    InputRequired(InputRequired),
    /// There is no such feature; for resources and providers.
    NotFound,
    /// The tool failed; the message is for the model.
    ToolError(String),
    /// The arguments match the schema but fail a check of the host. Says what is wrong, and where.
    InvalidArguments(String),
    /// A JSON-RPC error.
    Protocol(RpcError),
    /// An internal error; the message is only logged.
    Internal(String),
    /// An internal error, for the log and for error hooks ([`crate::ServerBuilder::on_error`]).
    Failed(Arc<ToolError>),
    /// An internal error that the handler has already logged. The details are for clients of a
    /// server with [`debug`](crate::ServerOptions::debug).
    Reported(String),
}

impl From<ToolError> for Outcome {
    fn from(error: ToolError) -> Self {
        match error.0 {
            Reason::Answer(VisibleError::Text(text)) => Self::ToolError(text),
            Reason::Answer(VisibleError::InvalidArguments(problem)) => Self::InvalidArguments(problem),
            Reason::Answer(VisibleError::Protocol(error)) => Self::Protocol(error),
            Reason::Answer(VisibleError::Input(required)) => Self::InputRequired(required),
            internal @ Reason::Internal(_) => Self::Failed(Arc::new(ToolError(internal))),
        }
    }
}

impl From<CallError> for Outcome {
    fn from(error: CallError) -> Self {
        error.0.into()
    }
}

impl Outcome {
    /// Returns whether this is `null`; from a provider, that there is no such feature.
    pub(in crate::server) fn is_null(&self) -> bool {
        match self {
            Self::NotFound => true,
            Self::Value(raw) => raw.as_bytes().trim_ascii() == b"null",
            _ => false,
        }
    }
}

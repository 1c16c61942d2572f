//! Errors of handlers: what the client sees, and what is only logged.

use super::{client_request::ClientRequestError, input::InputRequired};
use crate::{log_text::with_causes, protocol::RpcError};
use std::{convert::Infallible, error::Error, fmt, iter};

type AnyError = Box<dyn Error + Send + Sync>;

/// An error of a handler. Handlers return `ToolError`, or any error that converts into it.
///
/// The client sees
/// - the message of [`ToolError::new`], in a result with `isError` that the model can read;
/// - the JSON-RPC error for an [`RpcError`] or a [`ClientRequestError`];
/// - nothing of [`ToolError::internal`] and of errors that `?` converts to a [`CallError`]: the
///   result has a generic message, and the log has the error with its causes.
///   [`crate::ServerOptions::debug`] shows them to clients too.
///
/// For your own error types, implement `From` to choose what clients see:
///
/// ```
/// use trunkline::ToolError;
///
/// #[derive(Debug)]
/// enum NoteError {
///     NotFound(String),
///     Database(std::io::Error),
/// }
///
/// impl From<NoteError> for ToolError {
///     fn from(error: NoteError) -> Self {
///         match error {
///             NoteError::NotFound(name) => ToolError::new(format!("There is no note {name}")),
///             NoteError::Database(error) => ToolError::internal(error),
///         }
///     }
/// }
///
/// async fn note() -> Result<String, NoteError> {
///     Err(NoteError::NotFound("today".into()))
/// }
///
/// let server = trunkline::Server::builder("notes", "1.0.0").tool("note", "Read the note of today.", note).build();
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ToolError(pub(super) Reason);

#[derive(Debug, thiserror::Error)]
pub(super) enum Reason {
    #[error("{}", .0.shown())]
    Answer(#[source] VisibleError),
    #[error(transparent)]
    Internal(AnyError),
}

/// The part of an error that clients see. It is the source of a [`ToolError`], so that it is found
/// even if the error around it is transparent.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the error is reported to the client")]
pub(super) enum VisibleError {
    Text(String),
    InvalidArguments(String),
    Protocol(RpcError),
    Input(InputRequired),
}

impl VisibleError {
    /// The error as clients see it.
    fn shown(&self) -> &dyn fmt::Display {
        match self {
            Self::Text(text) | Self::InvalidArguments(text) => text,
            Self::Protocol(error) => error,
            Self::Input(required) => required,
        }
    }
}

impl ToolError {
    /// Creates an error whose message is shown to the client, and usually to its model.
    pub fn new(message: impl Into<String>) -> Self {
        Self::answer(VisibleError::Text(message.into()))
    }

    /// Creates an error that is only logged, with its causes. The client gets a generic message.
    pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Reason::Internal(error.into()))
    }

    /// For arguments that match the schema but fail another check. Clients see the message like a
    /// schema error, so begin it with the path of the argument.
    pub fn invalid_arguments(problem: impl Into<String>) -> Self {
        Self::answer(VisibleError::InvalidArguments(problem.into()))
    }

    /// The message that the client sees; `None` for an internal error.
    pub fn message(&self) -> Option<&str> {
        match &self.0 {
            Reason::Answer(VisibleError::Text(text) | VisibleError::InvalidArguments(text)) => Some(text),
            Reason::Answer(VisibleError::Protocol(error)) => Some(&error.message),
            Reason::Answer(VisibleError::Input(_)) | Reason::Internal(_) => None,
        }
    }

    /// The JSON-RPC error that the client sees, if it is one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match &self.0 {
            Reason::Answer(VisibleError::Protocol(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns whether it is only logged.
    pub fn is_internal(&self) -> bool {
        matches!(self.0, Reason::Internal(_))
    }

    fn answer(answer: VisibleError) -> Self {
        Self(Reason::Answer(answer))
    }

    /// The cause of an internal error, which you can inspect with `downcast_ref`.
    pub fn internal_error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match &self.0 {
            Reason::Internal(error) => Some(&**error),
            Reason::Answer(_) => None,
        }
    }

    /// The message for the log; for an internal error, with its causes.
    pub(in crate::server) fn detail(&self) -> String {
        match &self.0 {
            Reason::Internal(error) => with_causes(&**error),
            Reason::Answer(_) => self.to_string(),
        }
    }
}

/// The client-visible error in the chain of sources.
fn answer_in(error: &(dyn Error + 'static)) -> Option<VisibleError> {
    iter::successors(Some(error), |error| (*error).source()).find_map(|error| {
        if let Some(answer) = error.downcast_ref::<VisibleError>() {
            Some(answer.clone())
        } else if let Some(required) = error.downcast_ref::<InputRequired>() {
            Some(VisibleError::Input(required.clone()))
        } else {
            error.downcast_ref::<ClientRequestError>().map(|error| VisibleError::Protocol(error.clone().into_rpc()))
        }
    })
}

impl From<AnyError> for ToolError {
    /// Internal, unless there is a [`ToolError`] in the chain of sources.
    fn from(error: AnyError) -> Self {
        let error = match error.downcast::<ToolError>() {
            Ok(error) => return *error,
            Err(error) => error,
        };
        let error = match error.downcast::<RpcError>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        match answer_in(&*error) {
            Some(answer) => Self::answer(answer),
            None => Self(Reason::Internal(error)),
        }
    }
}

impl From<RpcError> for ToolError {
    fn from(error: RpcError) -> Self {
        Self::answer(VisibleError::Protocol(error))
    }
}

impl From<ClientRequestError> for ToolError {
    fn from(error: ClientRequestError) -> Self {
        Self::answer(VisibleError::Protocol(error.into_rpc()))
    }
}

impl From<InputRequired> for ToolError {
    fn from(required: InputRequired) -> Self {
        Self::answer(VisibleError::Input(required))
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        error.0
    }
}

impl From<Infallible> for ToolError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<std::io::Error> for ToolError {
    /// Internal, unless the error contains a [`ToolError`].
    fn from(error: std::io::Error) -> Self {
        CallError::from(error).0
    }
}

impl From<serde_json::Error> for ToolError {
    /// Always internal.
    fn from(error: serde_json::Error) -> Self {
        CallError::from(error).0
    }
}

/// Any error, for use with `?`: a [`std::error::Error`], an `anyhow` or boxed error, or a string.
///
/// A [`ToolError`] in its chain of sources decides what the client sees; without one, it is an
/// internal error, which is only logged. In Rust, a type can either convert from every error or
/// allow custom conversions: `CallError` does the former, [`ToolError`] the latter.
///
/// ```
/// use trunkline::{CallError, ToolError};
///
/// async fn first_line(path: &str) -> Result<String, CallError> {
///     let text = std::fs::read_to_string(path)?; // goes to the log
///     let line = text.lines().next().ok_or_else(|| ToolError::new("The file is empty"))?; // goes to the client
///     Ok(line.to_owned())
/// }
/// ```
pub struct CallError(pub(super) ToolError);

impl CallError {
    /// Creates an internal error, for error types that `?` cannot convert.
    pub fn internal(detail: impl fmt::Display) -> Self {
        Self(ToolError::internal(detail.to_string()))
    }

    /// The error as seen by clients and the log.
    pub fn as_tool_error(&self) -> &ToolError {
        &self.0
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for CallError {
    fn from(error: E) -> Self {
        Self(ToolError::from(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Own {
        #[error(transparent)]
        Told(#[from] ToolError),
        #[error("cannot load the note")]
        Load(#[source] std::io::Error),
    }

    fn converted(error: impl Into<CallError>) -> ToolError {
        error.into().into()
    }

    #[test]
    fn a_tool_error_is_found_behind_other_errors() {
        assert_eq!(converted(ToolError::new("no")).message(), Some("no"));
        assert_eq!(converted(Own::from(ToolError::new("no"))).message(), Some("no"));
        assert_eq!(converted(anyhow::Error::from(ToolError::new("no")).context("around")).message(), Some("no"));
        assert_eq!(converted(std::io::Error::other(ToolError::new("no"))).message(), Some("no"));
        let rpc = converted(Own::from(ToolError::from(RpcError::new(-32000, "busy"))));
        assert_eq!(rpc.rpc().map(|error| error.code), Some(-32000));
    }

    #[test]
    fn everything_else_is_internal_with_its_causes() {
        let error = converted(Own::Load(std::io::Error::other("permission denied")));
        assert!(error.is_internal() && error.message().is_none());
        assert_eq!(error.detail(), "cannot load the note: permission denied");
        assert!(error.internal_error().is_some_and(|error| error.is::<Own>()));
        let error = converted(anyhow::anyhow!("inner").context("outer"));
        assert_eq!(error.detail(), "outer: inner");
        assert!(converted("a text").is_internal());
        assert!(ToolError::internal(std::fmt::Error).is_internal());
    }
}

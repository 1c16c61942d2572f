//! Errors of client calls: the same kinds in every language.

use super::{ErrorKind, InputRequired, LinkFailure};
use crate::{
    engine::NegotiationError,
    protocol::{
        RpcError,
        envelope::NoResult,
        model::{AuthorizationDemand, ConnectionFailure, FailureReason},
    },
};
use std::time::Duration;

/// Why a client's call failed. Local failures are never mixed with errors that the server sent.
///
/// ```no_run
/// use trunkline::{Client, client::ErrorKind};
///
/// # async fn run(client: Client) {
/// if let Err(error) = client.list_tools().await {
///     match error.kind() {
///         ErrorKind::Timeout => eprintln!("the server is slow: {error}"),
///         ErrorKind::Transport => eprintln!("{error}: {:?}", error.connection()),
///         _ => eprintln!("{error}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server replied with a JSON-RPC error.
    #[error("{0}")]
    Protocol(RpcError),
    /// No reply in time; a server that received the request was asked to cancel it. The message
    /// names the request and the time.
    #[error("{0}")]
    Timeout(String),
    /// Cancelled by the caller.
    #[error("The request was cancelled")]
    Cancelled,
    /// The connection is closed.
    #[error("The connection is closed")]
    Closed,
    /// The connection could not be established, or broke.
    #[error("{0}")]
    Link(LinkFailure),
    /// Opening the connection failed during negotiation.
    #[error("{0}")]
    Negotiation(NegotiationError),
    /// Opening the connection failed because the transport failed.
    #[error("{text}")]
    NotOpened {
        /// The message.
        text: String,
        /// The failure of the connection.
        failure: LinkFailure,
    },
    /// The server's reply is neither a result nor an error, or is not a valid result of the method.
    #[error("Invalid response: {0}")]
    InvalidResponse(String),
    /// The server needs input before it has a result, and the options say that the caller supplies
    /// it.
    #[error("The server needs input before it has a result")]
    InputRequired(Box<InputRequired>),
    /// The host did not supply the input that the server needs for this call: its handler failed,
    /// or returned an unsolicited answer.
    #[error("The input that the server needs was not provided: {0}")]
    NoInput(String),
    /// The server asked for input more often than allowed per call.
    #[error("The server asked for input again after {0} rounds, the maximum for one call")]
    TooManyRounds(usize),
    /// The server does not know the task, or has deleted it: the server's error.
    #[error("{0}")]
    UnknownTask(RpcError),
    /// The task was cancelled: its id.
    #[error("The task {0} was cancelled")]
    TaskCancelled(String),
    /// The task did not finish within its lifetime: its id, and the lifetime.
    #[error("The task {0} did not finish within {1:?}, the time that the server keeps it")]
    TaskExpired(String, Duration),
    /// An argument is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The server has not declared what the call needs.
    #[error("{0}")]
    Unsupported(String),
    /// A limit was reached.
    #[error("Busy: {0}")]
    Busy(String),
}

impl From<NoResult> for ClientError {
    fn from(answer: NoResult) -> Self {
        match answer {
            NoResult::Error(error) => Self::Protocol(error),
            NoResult::InvalidResponse(text) => Self::InvalidResponse(text),
        }
    }
}

impl ClientError {
    /// The error for a value that cannot be written as JSON.
    #[doc(hidden)]
    pub fn unwritable(error: serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }

    /// The error for JSON of a server that cannot be read.
    #[doc(hidden)]
    pub fn unreadable(error: serde_json::Error) -> Self {
        Self::InvalidResponse(error.to_string())
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            // A limit of the server is treated like a local one.
            Self::Protocol(error) | Self::Negotiation(NegotiationError::Refused(error)) if error.is_busy() => {
                ErrorKind::Busy
            }
            Self::Protocol(_) | Self::UnknownTask(_) | Self::Negotiation(NegotiationError::Refused(_)) => {
                ErrorKind::Protocol
            }
            Self::Timeout(_) | Self::TaskExpired(..) | Self::Negotiation(NegotiationError::TimedOut) => {
                ErrorKind::Timeout
            }
            Self::Cancelled | Self::TaskCancelled(_) => ErrorKind::Cancelled,
            Self::Closed | Self::Link(LinkFailure::Closed | LinkFailure::RuntimeEnded) => ErrorKind::Closed,
            Self::Busy(_) | Self::Link(LinkFailure::Congested(_)) => ErrorKind::Busy,
            Self::Link(LinkFailure::Unauthorized { .. })
            | Self::NotOpened { failure: LinkFailure::Unauthorized { .. }, .. } => ErrorKind::AuthorizationRequired,
            Self::Negotiation(NegotiationError::NoCommonRevision { .. }) => ErrorKind::Version,
            Self::Link(_)
            | Self::NotOpened { .. }
            | Self::InvalidResponse(_)
            | Self::TooManyRounds(_)
            | Self::Negotiation(_) => ErrorKind::Transport,
            Self::InputRequired(_) => ErrorKind::InputRequired,
            Self::Unsupported(_) => ErrorKind::Unsupported,
            Self::Invalid(_) | Self::NoInput(_) => ErrorKind::InvalidArgument,
        }
    }

    /// The underlying JSON-RPC error, if the server sent one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Protocol(error) | Self::UnknownTask(error) | Self::Negotiation(NegotiationError::Refused(error)) => {
                Some(error)
            }
            _ => None,
        }
    }

    /// The server's challenge, for errors of the kind [`ErrorKind::AuthorizationRequired`].
    pub fn authorization(&self) -> Option<&AuthorizationDemand> {
        match self {
            Self::Link(LinkFailure::Unauthorized { demand, .. })
            | Self::NotOpened { failure: LinkFailure::Unauthorized { demand, .. }, .. } => Some(demand),
            _ => None,
        }
    }

    /// The facts of the failed connection, for errors of the kind [`ErrorKind::Transport`].
    pub fn connection(&self) -> Option<ConnectionFailure> {
        match self {
            _ if self.kind() != ErrorKind::Transport => None,
            Self::Link(failure) | Self::NotOpened { failure, .. } => Some(failure.info()),
            Self::InvalidResponse(_) | Self::Negotiation(NegotiationError::InvalidResponse(_)) => {
                let reason = Some(FailureReason::InvalidResponse);
                Some(ConnectionFailure { reason, ..ConnectionFailure::default() })
            }
            _ => Some(ConnectionFailure::default()),
        }
    }
}

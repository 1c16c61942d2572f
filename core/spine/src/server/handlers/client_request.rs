//! Handles and errors of client requests (RPC-31).

use crate::{
    protocol::{RawJson, RpcError, envelope::NoResult},
    telemetry::OperationEnd,
};
use std::{sync::Arc, time::Duration};

/// A request to the client of a call.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Which answer belongs to this request when the handler runs again; `None`: that to an equal
    /// request.
    pub key: Option<&'a str>,
    /// The parameters.
    pub params: Option<&'a RawJson>,
    /// Maximum time without progress.
    pub timeout: Duration,
    /// Maximum total time, to which progress extends the timeout.
    pub max: Duration,
}

/// Called once with the outcome of a client request.
pub(crate) type ResponseCallback = Box<dyn FnOnce(Result<RawJson, ClientRequestError>) + Send>;

/// A pending client request; `None` if the response has arrived.
#[derive(Clone)]
pub struct PendingClientRequest(pub(super) Option<CancelSent>);

/// Cancels a client request and notifies the client, given the reason. Has no effect if the request
/// is over.
pub(in crate::server) type CancelSent = Arc<dyn Fn(&str) + Send + Sync>;

/// Why a client request failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientRequestError {
    /// The client responded with an error or lacks the capability, or the revision has no such
    /// request.
    #[error("{0}")]
    Refused(RpcError),
    /// The response does not match the request.
    #[error("Invalid response from the client: {0}")]
    Invalid(String),
    /// 2026-07-28: the client has not been asked yet. The call ends here, and the handler runs
    /// again from the top with the answer.
    #[error("The handler waits for input of the client and will run again; this is not a failure")]
    Suspended,
    /// Cancelled by the handler; the client was notified.
    #[error("The request was cancelled")]
    Cancelled,
    /// No response arrived in time. The client was sent a cancellation.
    #[error("The client did not answer in time")]
    Timeout,
    /// The client cannot be asked here, because responses are JSON only or there is no session.
    #[error(
        "Cannot send a request to the client of this call: HTTP without sessions or event streams has no return channel"
    )]
    NotReachable,
    /// The connection is closed.
    #[error("The connection is closed")]
    Closed,
}

impl ClientRequestError {
    /// The end of a request with this error, for telemetry.
    #[doc(hidden)]
    pub fn as_end(&self) -> OperationEnd {
        let kind = match self {
            Self::Refused(error) => return OperationEnd::refused(error),
            Self::Cancelled | Self::Suspended => return OperationEnd::cancelled(),
            Self::Invalid(_) => "invalidResponse",
            Self::Timeout => "timeout",
            Self::NotReachable => "transport",
            Self::Closed => "closed",
        };
        OperationEnd::failed(kind, Some(self.to_string()))
    }

    /// The error that the client of the call gets if the handler propagates this one.
    #[doc(hidden)]
    pub fn into_rpc(self) -> RpcError {
        match self {
            Self::Refused(error) => error,
            Self::Closed => RpcError::interrupted(),
            other => RpcError::invalid_request(other.to_string()),
        }
    }
}

impl From<NoResult> for ClientRequestError {
    fn from(answer: NoResult) -> Self {
        match answer {
            NoResult::Error(error) => Self::Refused(error),
            NoResult::InvalidResponse(text) => Self::Invalid(text),
        }
    }
}

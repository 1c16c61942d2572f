//! Where a server's messages go: the pipe, or the HTTP exchange that a message belongs to.

use crate::{
    protocol::{RawJson, RequestId, RpcError, envelope},
    server::handlers::Arrival,
};
use bytes::Bytes;

/// A message on its way to the client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OutgoingMessage {
    /// The answer to a request; ends its exchange.
    Response {
        /// The message.
        message: Bytes,
        /// Why the request failed, if it did.
        failure: Option<ErrorInfo>,
    },
    /// A notification.
    Notification(Bytes),
    /// A request of the server's own (legacy only).
    Request(Bytes),
    /// The request of this exchange was cancelled: nothing will answer it.
    Abandoned,
}

/// The error of a response, for transports with status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The JSON-RPC code.
    pub code: i64,
    /// The request was refused before it was served: an envelope, header, version or admission
    /// problem.
    pub refused: bool,
    /// A limit was reached; trying again later may succeed.
    pub busy: bool,
}

impl OutgoingMessage {
    /// An error response.
    pub(crate) fn error(id: Option<&RequestId>, error: &RpcError, refused: bool) -> Self {
        let failure = Some(ErrorInfo { code: error.code, refused, busy: error.is_busy() });
        Self::Response { message: envelope::encode_error(id, error), failure }
    }

    /// The message, if there is one to send.
    pub(crate) fn message(&self) -> Option<&Bytes> {
        match self {
            Self::Response { message, .. } | Self::Notification(message) | Self::Request(message) => Some(message),
            Self::Abandoned => None,
        }
    }

    /// The response to a request.
    pub(crate) fn response(id: &RequestId, result: Result<RawJson, RpcError>) -> Self {
        match result {
            Ok(result) => Self::result(envelope::encode_result(id, result.as_bytes())),
            Err(error) => Self::error(Some(id), &error, false),
        }
    }

    /// A response with a result.
    pub(crate) fn result(message: Bytes) -> Self {
        Self::Response { message, failure: None }
    }
}

/// Takes messages to the client. Never blocks and never calls back into the server.
pub trait Outbound: Send + Sync + 'static {
    /// Sends a message; one that cannot be delivered any more is dropped.
    fn send(&self, outgoing: OutgoingMessage);

    /// Returns whether so much waits to be read by the client that further calls are refused as
    /// busy.
    fn is_congested(&self) -> bool {
        false
    }

    /// Returns whether a request can be sent this way, and its answer can come back.
    fn can_ask(&self) -> bool {
        true
    }

    /// Closes the connection that carries this way, where its client can come back for the rest;
    /// elsewhere nothing happens.
    fn close_stream(&self) {}

    /// Gives back the place that the request has among those being served: it has become a task,
    /// which is bounded otherwise.
    fn release_slot(&self) {}

    /// The verified identity of the sender of the requests that are answered here; it becomes
    /// [`RequestInfo::auth`].
    ///
    /// [`RequestInfo::auth`]: crate::engine::RequestInfo::auth
    fn auth(&self) -> Option<&RawJson> {
        None
    }

    /// The resource (RFC 8707) that the access token of the sender is for; `None` where nobody is
    /// asked for a token.
    fn resource(&self) -> Option<&str> {
        None
    }

    /// The way by which the message came that is answered here; `None` on pipes.
    #[doc(hidden)]
    fn arrival(&self) -> Option<&Arrival> {
        None
    }

    /// Returns whether the same may do what needs these scopes. Where nobody is asked who he is,
    /// nothing is needed.
    fn grants(&self, scopes: &[String]) -> bool {
        let _ = scopes;
        true
    }
}

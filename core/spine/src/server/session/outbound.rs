//! The channel for a server's messages: a pipe, or the HTTP exchange that a message belongs to.

use crate::{
    protocol::{RawJson, RequestId, RpcError, envelope},
    server::handlers::Arrival,
};
use bytes::Bytes;

/// A message to the client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OutgoingMessage {
    /// The response to a request; ends its exchange.
    Response {
        /// The message.
        message: Bytes,
        /// The error, if the request failed.
        failure: Option<ErrorInfo>,
    },
    /// A notification.
    Notification(Bytes),
    /// A request from the server (legacy only).
    Request(Bytes),
    /// The request of this exchange was cancelled; there will be no response.
    Abandoned,
}

/// The error of a response, for transports with status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The JSON-RPC code.
    pub code: i64,
    /// True if the request was refused before it was served, because of its envelope, headers,
    /// version or admission.
    pub refused: bool,
    /// True if a limit was reached, so that a retry may succeed.
    pub busy: bool,
}

impl OutgoingMessage {
    /// Creates an error response.
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

    /// Creates the response to a request.
    pub(crate) fn response(id: &RequestId, result: Result<RawJson, RpcError>) -> Self {
        match result {
            Ok(result) => Self::result(envelope::encode_result(id, result.as_bytes())),
            Err(error) => Self::error(Some(id), &error, false),
        }
    }

    /// Creates a response with a result.
    pub(crate) fn result(message: Bytes) -> Self {
        Self::Response { message, failure: None }
    }
}

/// Sends messages to the client. Must never block or call back into the server.
pub trait Outbound: Send + Sync + 'static {
    /// Sends a message, or drops it if it can no longer be delivered.
    fn send(&self, outgoing: OutgoingMessage);

    /// Returns whether the client has so much unread data that new calls are refused as busy.
    fn is_congested(&self) -> bool {
        false
    }

    /// Returns whether the client reads more slowly than messages arrive, so that those that
    /// replace each other should wait.
    fn is_behind(&self) -> bool {
        self.is_congested()
    }

    /// Returns whether client requests can be sent here and get a response.
    fn can_ask(&self) -> bool {
        true
    }

    /// Closes the underlying connection if the client can resume it later; otherwise does nothing.
    fn close_stream(&self) {}

    /// Releases the slot of a request that has become a task, because tasks have their own limits.
    fn release_slot(&self) {}

    /// The verified identity of the requests' sender, which becomes [`RequestInfo::auth`].
    ///
    /// [`RequestInfo::auth`]: crate::engine::RequestInfo::auth
    fn auth(&self) -> Option<&RawJson> {
        Some(self.arrival()?.sender.as_ref()?.auth())
    }

    /// The resource (RFC 8707) of the sender's access token; `None` without authorization.
    fn resource(&self) -> Option<&str> {
        Some(self.arrival()?.sender.as_ref()?.resource())
    }

    /// How the message arrived; `None` on pipes.
    #[doc(hidden)]
    fn arrival(&self) -> Option<&Arrival> {
        None
    }

    /// Returns whether the sender has these scopes. Without authorization, none are needed.
    fn grants(&self, scopes: &[String]) -> bool {
        let sender = self.arrival().and_then(|arrival| arrival.sender.as_ref());
        sender.is_none_or(|sender| sender.grants(scopes))
    }
}

//! The interface between a client and its transport.

use super::LinkFailure;
use crate::{
    cause::Cause,
    client_auth::{AuthError, ClientAuth},
    protocol::{Era, RequestId, Revision, SentTrace},
    runtime::{BoxedTask, Runtime},
    wire_log::Transport,
};
use bytes::Bytes;
use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing::Span;

/// Identifies a client within its process.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientId(pub(super) u64);

impl ClientId {
    /// The number, as observers of the wire get it.
    #[doc(hidden)]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Allocates the next id.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Connects to a server; more than once if the negotiation needs a new connection.
pub trait Connector: Send + Sync + 'static {
    /// Connects. From then on, messages are passed to `inbox`.
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>>;
    /// Returns whether the server is a process on a pipe rather than a URL. It may stay silent or
    /// exit when probed.
    fn is_pipe(&self) -> bool;
    /// The credentials of its requests, if it has any.
    fn auth(&self) -> Option<Arc<dyn ClientAuth>> {
        None
    }
    /// Forgets the credentials that were obtained for the server, if there are any.
    fn logout(&self, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<(), AuthError>> {
        let _ = runtime;
        Box::pin(ready(Ok(())))
    }
    /// The access token of the next request, if there is one.
    fn access_token(&self, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<Option<String>, AuthError>> {
        let _ = runtime;
        Box::pin(ready(Ok(None)))
    }
    /// The only era that this transport supports; `None` for both.
    fn only_era(&self) -> Option<Era> {
        None
    }
    /// The key of the server in the era cache: a hash, because the environment may contain secrets.
    /// `None` to disable caching.
    fn identity(&self) -> Option<u64> {
        None
    }
    /// Returns whether a lost connection may be reestablished.
    fn reconnects(&self) -> bool {
        true
    }
    /// Returns whether only one connection can be open at a time. A proxy then shares it between
    /// its callers, and the client's own handlers answer the server.
    fn is_exclusive(&self) -> bool {
        false
    }
    /// Returns whether it leads to a single server, so that another connection is another session
    /// there.
    #[doc(hidden)]
    fn has_sessions(&self) -> bool {
        true
    }
    /// Returns whether it leads to the server with this identity in this process.
    #[doc(hidden)]
    fn is_of_server(&self, identity: usize) -> bool {
        let _ = identity;
        false
    }
    /// Returns whether requests eventually reach this client, for example through a group that
    /// shares it.
    #[doc(hidden)]
    fn leads_to(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }
    /// The address and port of the server, for telemetry.
    fn server_address(&self) -> Option<(String, Option<u16>)> {
        None
    }
    /// The name of the server that has a tool, if it leads to several.
    #[doc(hidden)]
    fn server_of(&self, tool: &str) -> Option<String> {
        let _ = tool;
        None
    }
    /// The URL or command of the server for the log, without secrets.
    #[doc(hidden)]
    fn display(&self) -> Option<String> {
        None
    }
    /// The transport, for the wire log.
    fn transport(&self) -> Transport {
        if self.is_pipe() { Transport::Stdio } else { Transport::Http }
    }
}

/// A connection to a server.
pub trait Link: Send + Sync + 'static {
    /// Sends a message. Never blocks. A request that cannot be delivered ends in
    /// [`Inbox::failed`].
    fn send(&self, message: LinkMessage);
    /// Ends the exchange of a cancelled request. Returns `true` if that alone notifies the server
    /// (modern HTTP); otherwise a cancellation is sent.
    fn abandon(&self, id: &RequestId) -> bool {
        let _ = id;
        false
    }
    /// Called when the revision is negotiated, so that what depends on it (headers, the GET stream
    /// of a session) can start.
    fn negotiated(&self, revision: Revision) {
        let _ = revision;
    }
    /// The id of the session, for telemetry.
    fn session_id(&self) -> Option<String> {
        None
    }
    /// The process id of the server, if this side started it and it is running.
    fn process_id(&self) -> Option<u32> {
        None
    }
    /// The name of the peer, at the start of a sentence.
    fn peer(&self) -> String {
        "The server".to_owned()
    }
    /// Diagnostic suffix for error messages, for example the last lines of the child's stderr.
    fn diagnostics(&self) -> String {
        String::new()
    }
    /// Closes the connection: gracefully within `deadline`, then forcibly. It continues if the
    /// caller stops waiting. Several callers wait for the same end, and the earliest deadline wins.
    fn close(&self, deadline: Duration) -> BoxedTask;
}

/// A message to the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkMessage {
    /// The message.
    pub bytes: Bytes,
    /// For a request: what transports with headers need.
    pub request: Option<RequestHead>,
    /// True if this is the only request in flight, so that waiting for others to batch with it is
    /// pointless.
    pub alone: bool,
    /// The sender of a request to a server in this process, if known.
    pub caller: Option<LocalCaller>,
}

impl LinkMessage {
    /// A notification or a response.
    pub(crate) fn without_answer(bytes: Bytes) -> Self {
        Self { bytes, request: None, alone: false, caller: None }
    }
}

/// The sender of a request to a server in this process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LocalCaller {
    /// The span in which the request was sent.
    pub span: Span,
    /// The request, in a binding.
    pub cause: Option<Arc<dyn Cause>>,
}

/// The parts of a request that HTTP mirrors in headers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestHead {
    /// The id.
    pub id: RequestId,
    /// The method.
    pub method: Box<str>,
    /// The parameter that `Mcp-Name` mirrors, if the method has one.
    pub name: Option<String>,
    /// The tool parameters mirrored in headers: name and value, not encoded yet.
    pub parameters: Vec<(String, String)>,
    /// Its revision; `None` for `initialize`, which has no version header.
    pub revision: Option<Revision>,
    /// The trace context, which is also sent in headers.
    #[doc(hidden)]
    pub trace: Option<Arc<SentTrace>>,
    /// True if the user is not asked to log in for it.
    #[doc(hidden)]
    pub unattended: bool,
}

/// Receives what arrives from the server. Never blocks for long.
pub trait Inbox: Send + Sync + 'static {
    /// The number of the client, for observers of HTTP exchanges.
    #[doc(hidden)]
    fn connection(&self) -> Option<u64> {
        None
    }
    /// A frame arrived: one message, or a batch.
    fn message(&self, frame: Bytes);
    /// Returns whether a request is still pending.
    fn is_pending(&self, id: &RequestId) -> bool;
    /// Pauses the deadlines of a request while a person is asked. [`Inbox::resume`] must follow.
    fn pause(&self, id: &RequestId);
    /// Resumes the request.
    fn resume(&self, id: &RequestId);
    /// A request could not be delivered, or its exchange ended without a response.
    fn failed(&self, id: &RequestId, failure: LinkFailure);
    /// The whole connection ended.
    fn closed(&self, failure: LinkFailure);
    /// The session was lost and a new one was opened, without the state of the old one. Returns a
    /// request to send before all other messages.
    fn session_renewed(&self) -> Option<LinkMessage>;
    /// Notifications may have been lost, because their stream was interrupted.
    fn missed(&self);
}

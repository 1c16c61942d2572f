//! The interface between a client and its transport.

use super::link_failure::LinkFailure;
use crate::{
    cause::Cause,
    client_auth::ClientAuth,
    protocol::{Era, RequestId, Revision, SentTrace},
    runtime::BoxedTask,
    wire_log::Transport,
};
use bytes::Bytes;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing::Span;

/// The identity of a client in its process.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientId(pub(super) u64);

impl ClientId {
    /// Makes the next one.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Makes connections to one server; again, if the negotiation needs a fresh one.
pub trait Connector: Send + Sync + 'static {
    /// Connects. Messages go to `inbox` from now on.
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>>;
    /// Returns whether the server is a process on a pipe and not a URL (it may be silent or exit
    /// when probed).
    fn is_pipe(&self) -> bool;
    /// The credentials of its requests, if it has any.
    fn auth(&self) -> Option<Arc<dyn ClientAuth>> {
        None
    }
    /// The one era that this transport can carry; `None`: both.
    fn only_era(&self) -> Option<Era> {
        None
    }
    /// The key of the server in the era cache: a hash, for an environment may hold secrets. `None`:
    /// do not remember.
    fn identity(&self) -> Option<u64> {
        None
    }
    /// Returns whether a connection that was lost may be made anew.
    fn reconnects(&self) -> bool {
        true
    }
    /// Returns whether it leads to one server, so that another connection of it is another session
    /// there.
    #[doc(hidden)]
    fn has_sessions(&self) -> bool {
        true
    }
    /// Returns whether it leads to the server of this process with this identity.
    #[doc(hidden)]
    fn is_of_server(&self, identity: usize) -> bool {
        let _ = identity;
        false
    }
    /// Returns whether requests on this way come to that client: those of a group, say, which
    /// shares it.
    #[doc(hidden)]
    fn leads_to(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }
    /// The address of the server and its port, for telemetry.
    fn server_address(&self) -> Option<(String, Option<u16>)> {
        None
    }
    /// The name of the transport in records of messages.
    fn transport(&self) -> Transport {
        if self.is_pipe() { Transport::Stdio } else { Transport::Http }
    }
}

/// A connection to a server.
pub trait Link: Send + Sync + 'static {
    /// Sends a message. Never blocks. A request that cannot be delivered ends in
    /// [`Inbox::failed`].
    fn send(&self, message: LinkMessage);
    /// Ends the exchange of a request that is no longer wanted. `true` if that alone tells the
    /// server (modern HTTP); otherwise a cancellation is sent.
    fn abandon(&self, id: &RequestId) -> bool;
    /// The revision is settled: what depends on it (headers, the GET stream of a session) may
    /// start.
    fn settled(&self, revision: Revision);
    /// The id of the session, for telemetry.
    fn session_id(&self) -> Option<String> {
        None
    }
    /// The id of the process of the server, where this side has started it and it runs.
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
    /// Ends the connection: politely until the deadline, given as the time that is left, then by
    /// force. It continues if its caller stops waiting. Several callers wait for the same end, and
    /// the earliest deadline counts.
    fn close(&self, deadline: Duration) -> BoxedTask;
}

/// A message on its way to the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkMessage {
    /// The message.
    pub bytes: Bytes,
    /// Facts about a request for transports with headers.
    pub request: Option<RequestHead>,
    /// A request, and no other is in flight: waiting for others to send with it is in vain.
    pub alone: bool,
    /// The sender of a request to a server of this process, if it can be told apart.
    pub caller: Option<LocalCaller>,
}

/// The sender of a request to a server of this process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LocalCaller {
    /// The span within which the request was sent.
    pub span: Span,
    /// The request in the host of a binding.
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
    /// The parameters of a tool that headers repeat: name and value, not encoded yet.
    pub parameters: Vec<(String, String)>,
    /// The revision under which it is sent; `None` for `initialize`, which carries no version
    /// header.
    pub revision: Option<Revision>,
    /// The trace context, which has headers too.
    #[doc(hidden)]
    pub trace: Option<Arc<SentTrace>>,
}

/// Takes what arrives from the server. Never blocks for long.
pub trait Inbox: Send + Sync + 'static {
    /// A frame arrived: one message, or a batch.
    fn message(&self, frame: Bytes);
    /// Returns whether a request is still without an answer.
    fn awaits(&self, id: &RequestId) -> bool;
    /// A person is asked before the request can go on: until [`Inbox::resume`], which must follow,
    /// no deadline of it counts.
    fn pause(&self, id: &RequestId);
    /// The request goes on.
    fn resume(&self, id: &RequestId);
    /// A request could not be delivered, or its exchange ended without an answer.
    fn failed(&self, id: &RequestId, failure: LinkFailure);
    /// The whole connection ended.
    fn closed(&self, failure: LinkFailure);
    /// The session was lost and another one opened in its place, which knows nothing that was set
    /// in the old one.
    fn renewed(&self);
    /// Notifications may have been lost: their stream was open, and is open again without what came
    /// between.
    fn missed(&self);
}

//! The entries behind a port's handles and tickets.

use super::{
    BridgeError, Event, EventKind, Lane, Reply,
    http::Answering,
    message::{NotifyConnection, Request},
    port::PortInner,
    queue::Latest,
};
use bytes::Bytes;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tokio::task::AbortHandle;
use trunkline::bridge_support::{Condvar, InFlight, Mutex, ReplyTo};
use trunkline::{
    auth::Verification,
    client::{Client, ClientError, ClientEvents},
    protocol::{RawJson, method},
    server::{Call, CallInfo, Handler, PendingClientRequest, Registration, Server},
    transport::Listener,
};

/// Requests and notifications that may wait for their connection to open; as many as may be in flight on an open one.
pub(super) const MAX_WAITING: usize = 16_384;

/// A thing of a port.
pub(super) enum Entry {
    Server(Server),
    /// Something that a server offers, or a hook.
    Registered {
        server: Server,
        registration: Option<Registration>,
    },
    /// A listener or connection that is being opened.
    Opening {
        slot: Option<Arc<Slot>>,
        connection: bool,
        waiting: Vec<Waiting>,
        task: Option<AbortHandle>,
    },
    Listener {
        listener: Arc<Listener>,
        slot: Option<Arc<Slot>>,
    },
    Connection {
        client: Client,
        slot: Option<Arc<Slot>>,
    },
    Call {
        call: Option<Call>,
        facts: CallInfo,
        /// Kept for as long as the host may look for what is called.
        _target: Arc<HostTarget>,
    },
    Request {
        slot: Option<Arc<Slot>>,
        sent: Option<Sent>,
        connection: u64,
    },
    /// A request whose reply waits to be fetched.
    Done(Arc<Slot>),
    /// A hook that judges tokens.
    Verifier {
        server: Server,
        target: Arc<HostTarget>,
    },
    /// A token that the host judges.
    Verification(Verification),
    /// A request that a web framework brought.
    Exchange(Arc<Answering>),
}

impl Entry {
    /// A listener, open or being opened.
    pub(super) fn is_listener(&self) -> bool {
        matches!(self, Self::Listener { .. } | Self::Opening { connection: false, .. })
    }

    /// A connection, open or being opened.
    pub(super) fn is_connection(&self) -> bool {
        matches!(self, Self::Connection { .. } | Self::Opening { connection: true, .. })
    }
}

/// A request on its way.
pub(super) enum Sent {
    /// Of a client.
    ToServer(Client, InFlight),
    /// Of a server, to the client of a call.
    ToClient(CallInfo, PendingClientRequest),
}

/// A request or notification that was made before its connection was open.
pub(super) enum Waiting {
    /// A request, with its ticket.
    Request(u64, Request),
    Notification(NotifyConnection),
}

/// The place of a reply that is fetched with `wait` or `fetch`.
#[derive(Default)]
pub(super) struct Slot {
    reply: Mutex<Option<Reply>>,
    filled: Condvar,
    /// The latest progress that was not fetched yet; used by ports that have a bell for threads.
    progress: Latest,
}

impl Slot {
    pub(super) fn fill(&self, reply: Reply) {
        *self.reply.lock() = Some(reply);
        self.filled.notify_all();
    }

    /// Replaces the progress that was not fetched yet.
    pub(super) fn put_progress(&self, body: Bytes) {
        *self.progress.lock() = Some(body);
    }

    pub(super) fn take_progress(&self) -> Option<Bytes> {
        self.progress.lock().take()
    }

    pub(super) fn wait(&self, wait: Duration) -> Option<Reply> {
        let deadline = Instant::now() + wait;
        self.filled.wait_while_until(self.reply.lock(), deadline, |reply| reply.is_none()).take()
    }
}

/// Takes calls of something registered to the host.
pub(super) struct HostTarget {
    pub(super) port: Weak<PortInner>,
    pub(super) handle: std::sync::OnceLock<u64>,
    pub(super) lane: Lane,
}

impl Drop for HostTarget {
    /// It was taken away, and its last call is over: the host can forget it.
    fn drop(&mut self) {
        if let (Some(port), Some(&handle)) = (self.port.upgrade(), self.handle.get()) {
            port.push(Lane::Queue, Event { kind: EventKind::Freed, handle, ok: true, ..Event::default() });
        }
    }
}

/// The handler that the server keeps for a [`HostTarget`].
pub(super) struct HostHandler(pub(super) Arc<HostTarget>);

impl Handler for HostHandler {
    fn call(&self, call: Call) {
        let (Some(port), Some(&handle)) = (self.0.port.upgrade(), self.0.handle.get()) else { return };
        let body = call.input().clone().into_bytes();
        let facts = call.info().clone();
        let entry = Entry::Call { call: Some(call), facts: facts.clone(), _target: Arc::clone(&self.0) };
        let Ok(ticket) = port.insert(entry) else { return };
        let lane = self.0.lane;
        port.push(lane, Event { kind: EventKind::Call, ticket, handle, ok: true, name: String::new(), body });
        let port = Weak::clone(&self.0.port);
        facts.on_cancel(move |reason| {
            if let Some(port) = port.upgrade() {
                port.call_off(lane, ticket, handle, Bytes::copy_from_slice(reason.as_bytes()));
            }
        });
    }
}

impl PortInner {
    /// A call is not wanted any more. Admission has forgotten it, so it must not stay in the queue; a host that never saw it
    /// hears nothing. In the pool the flag is that the ticket is gone; everyone else is told.
    pub(super) fn call_off(&self, lane: Lane, ticket: u64, handle: u64, reason: Bytes) {
        let waited = self.remove(ticket).is_some();
        if waited && !self.queue.withdraw(lane, ticket) && lane == Lane::Queue {
            let cancel = Event { kind: EventKind::Cancel, ticket, handle, ok: true, name: String::new(), body: reason };
            self.push(lane, cancel);
        }
    }
}

/// Takes the outcome of a request to the host.
pub(super) struct HostReply {
    pub(super) port: Weak<PortInner>,
    pub(super) ticket: u64,
    pub(super) connection: u64,
    pub(super) latest: Latest,
    /// Gets the progress in place of the queue.
    pub(super) slot: Option<Arc<Slot>>,
}

impl ReplyTo for HostReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        if let Some(port) = self.port.upgrade() {
            port.answered(self.ticket, outcome.map(RawJson::into_bytes).map_err(BridgeError::from));
        }
    }

    fn progress(&self, params: RawJson) {
        let Some(port) = self.port.upgrade() else { return };
        if let Some(slot) = &self.slot {
            slot.put_progress(params.into_bytes());
            port.queue.ring_for_threads();
        } else {
            port.queue.push_progress(self.ticket, self.connection, method::PROGRESS, &self.latest, params.into_bytes());
        }
    }
}

/// Takes what a connection hears to the host.
pub(super) struct HostEvents {
    pub(super) port: Weak<PortInner>,
    pub(super) handle: u64,
}

impl ClientEvents for HostEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let Some(port) = self.port.upgrade() else { return };
        let body = params.map_or_else(|| Bytes::from_static(b"{}"), |params| params.clone().into_bytes());
        let event = Event {
            kind: EventKind::Notification,
            ticket: 0,
            handle: self.handle,
            ok: true,
            name: method.to_owned(),
            body,
        };
        port.queue.push_notification(event);
    }

    fn closed(&self, error: Option<&ClientError>) {
        // An end by this side is told when everything is really over.
        if let (Some(port), Some(error)) = (self.port.upgrade(), error) {
            port.ended(self.handle, Some(&BridgeError::from(error.clone())));
        }
    }
}

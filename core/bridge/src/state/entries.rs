//! What handles and tickets refer to.

use crate::{
    error::{BridgeError, ErrorKind},
    events::{Event, EventKind, Lane, queue::EventQueue, slot::ReplySlot},
    http::credit::Credit,
    message::{NotifyConnection, Request},
    open::connection::Connection,
    requests::task_progress::TaskProgress,
    state::table::{HandleKind, HandleTable},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::oneshot, task::AbortHandle};
use trunkline::bridge_support::{BodyFeed, ClientCall};
use trunkline::{
    auth::Verification,
    client::{Client, ClientTask, Subscription},
    protocol::{RawJson, RpcError},
    server::{Call, CallInfo, PendingClientRequest, Server},
    transport::Listener,
};

/// Maximum messages waiting for their connection to open; as many as may be in flight on an open
/// one.
pub(crate) const MAX_WAITING: usize = 16_384;

/// All tables of a port, one per kind.
pub(crate) struct Tables {
    pub(crate) servers: HandleTable<Server>,
    pub(crate) features: HandleTable<RegisteredFeature>,
    pub(crate) verifiers: HandleTable<Verifier>,
    pub(crate) listeners: HandleTable<OpenState<Arc<Listener>>>,
    pub(crate) connections: HandleTable<OpenState<Connection>>,
    pub(crate) calls: HandleTable<HostCall>,
    pub(crate) verifications: HandleTable<Verification>,
    pub(crate) requests: HandleTable<HostRequest>,
    pub(crate) exchanges: HandleTable<Arc<HttpExchange>>,
    pub(crate) server_requests: HandleTable<PendingServerRequest>,
    pub(crate) lost: LostConnections,
}

/// Why connections were lost, for later requests on them.
#[derive(Default)]
pub(crate) struct LostConnections(VecDeque<(u64, String)>);

impl LostConnections {
    /// How many are remembered.
    const MOST: usize = 64;

    pub(crate) fn note(&mut self, handle: u64, reason: String) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((handle, reason));
    }

    pub(crate) fn reason(&self, handle: u64) -> Option<&str> {
        self.0.iter().find(|(lost, _)| *lost == handle).map(|(_, reason)| reason.as_str())
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            servers: HandleTable::new(HandleKind::Server),
            features: HandleTable::new(HandleKind::Feature),
            verifiers: HandleTable::new(HandleKind::Verifier),
            listeners: HandleTable::new(HandleKind::Listener),
            connections: HandleTable::new(HandleKind::Connection),
            calls: HandleTable::new(HandleKind::Call),
            verifications: HandleTable::new(HandleKind::Verification),
            requests: HandleTable::new(HandleKind::Request),
            exchanges: HandleTable::new(HandleKind::Exchange),
            server_requests: HandleTable::new(HandleKind::ServerRequest),
            lost: LostConnections::default(),
        }
    }
}

impl Tables {
    /// Total number of entries.
    pub(crate) fn len(&self) -> usize {
        self.servers.len()
            + self.features.len()
            + self.verifiers.len()
            + self.listeners.len()
            + self.connections.len()
            + self.calls.len()
            + self.verifications.len()
            + self.requests.len()
            + self.exchanges.len()
            + self.server_requests.len()
    }
}

/// A registered feature or middleware.
pub(crate) struct RegisteredFeature {
    pub(crate) server: Server,
    /// Its id in the registry. `None` while it is being added, and for anything that is in no list.
    pub(crate) id: Option<u64>,
    /// Its host target if the registry doesn't hold it: for a `visibility` function, and for
    /// features that the core answers itself.
    pub(crate) target: Option<Arc<HostTarget>>,
}

/// A token verifier of the host.
pub(crate) struct Verifier {
    pub(crate) server: Server,
    pub(crate) target: Arc<HostTarget>,
}

/// A listener or a connection.
pub(crate) enum OpenState<T> {
    /// Being opened.
    Opening {
        slot: Option<Arc<ReplySlot>>,
        /// Messages to send when the connection is open.
        waiting: Vec<WaitingMessage>,
        task: Option<AbortHandle>,
    },
    Open {
        thing: T,
        slot: Option<Arc<ReplySlot>>,
    },
    /// Opening failed, and the reply has not been fetched yet.
    Failed(Arc<ReplySlot>),
}

impl<T> OpenState<T> {
    pub(crate) fn opening(slot: Option<Arc<ReplySlot>>) -> Self {
        Self::Opening { slot, waiting: Vec::new(), task: None }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Open { thing, .. } => Some(thing),
            Self::Opening { .. } | Self::Failed(_) => None,
        }
    }

    /// Returns whether it is open or opening.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    pub(crate) fn slot(&self) -> Option<Arc<ReplySlot>> {
        match self {
            Self::Opening { slot, .. } | Self::Open { slot, .. } => slot.clone(),
            Self::Failed(slot) => Some(Arc::clone(slot)),
        }
    }
}

impl HandleTable<HostRequest> {
    /// Removes a fetched reply to a request. A stream stays open.
    pub(crate) fn forget_reply(&mut self, ticket: u64) {
        match self.get_mut(ticket) {
            Some(HostRequest::Stream { slot, .. }) => *slot = None,
            _ => drop(self.remove(ticket)),
        }
    }
}

impl<T> HandleTable<OpenState<T>> {
    /// Removes a fetched reply to an open, and the entry itself if opening failed.
    pub(crate) fn forget_reply(&mut self, handle: u64) {
        match self.get_mut(handle) {
            Some(OpenState::Open { slot, .. }) => *slot = None,
            Some(OpenState::Failed(_)) => drop(self.remove(handle)),
            Some(OpenState::Opening { .. }) | None => {}
        }
    }
}

/// Listeners and connections.
pub(crate) trait Openable: Clone + Send + Sync + Sized + 'static {
    fn table(tables: &mut Tables) -> &mut HandleTable<OpenState<Self>>;

    /// Closes it. Calls and requests in flight may finish until the deadline.
    fn close(&self, deadline: Duration) -> impl Future<Output = ()> + Send;
}

impl Openable for Arc<Listener> {
    fn table(tables: &mut Tables) -> &mut HandleTable<OpenState<Self>> {
        &mut tables.listeners
    }

    async fn close(&self, deadline: Duration) {
        Listener::close(self, deadline).await;
    }
}

impl Openable for Connection {
    fn table(tables: &mut Tables) -> &mut HandleTable<OpenState<Self>> {
        &mut tables.connections
    }

    async fn close(&self, deadline: Duration) {
        self.client.close_within(deadline).await;
    }
}

/// A call that the host handles.
pub(crate) struct HostCall {
    pub(crate) call: Call,
    pub(crate) info: CallInfo,
    /// Kept alive as long as the host may look up what is called.
    pub(crate) _target: Arc<HostTarget>,
}

/// The host's response to a server request.
pub(crate) type HostAnswer = Result<RawJson, RpcError>;

/// A pending server request.
pub(crate) struct PendingServerRequest {
    pub(crate) answer: oneshot::Sender<HostAnswer>,
    /// Its telemetry number, or 0 without telemetry.
    pub(crate) operation: u64,
    /// Failures are reported in full, because no peer sees them.
    pub(crate) is_private: bool,
}

/// A host's request.
pub(crate) enum HostRequest {
    /// `sent` is `None` while the request is waiting for its connection or being sent.
    Running { slot: Option<Arc<ReplySlot>>, sent: Option<RunningRequest>, handle: u64 },
    /// Completed, but the reply has not been fetched yet.
    Done(Arc<ReplySlot>),
    /// An open stream. Its reply may not have been fetched yet.
    Stream { open: Arc<OpenStream>, slot: Option<Arc<ReplySlot>> },
}

/// An open stream.
pub(crate) struct OpenStream {
    pub(crate) connection: u64,
    pub(crate) source: StreamSource,
    /// Held by the request that is waiting for the next item.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

/// The source of a stream.
pub(crate) enum StreamSource {
    /// Changes at a server.
    Subscription(Subscription),
    /// States of a task.
    Task(ClientTask, Arc<TaskProgress>),
}

impl HostRequest {
    /// A request that has not been sent yet.
    pub(crate) fn running(given: &Request, handle: u64) -> Self {
        Self::Running { slot: given.wait.then(Arc::default), sent: None, handle }
    }

    pub(crate) fn slot(&self) -> Option<Arc<ReplySlot>> {
        match self {
            Self::Running { slot, .. } | Self::Stream { slot, .. } => slot.clone(),
            Self::Done(slot) => Some(Arc::clone(slot)),
        }
    }
}

/// A request in flight.
pub(crate) enum RunningRequest {
    /// To a server.
    ToServer(Client, Arc<ClientCall>),
    /// From a handler to the client of its call.
    ToClient(CallInfo, PendingClientRequest),
    /// A task of this port.
    Task(AbortHandle),
}

/// A request or notification made before its connection was open.
pub(crate) enum WaitingMessage {
    /// A request with its ticket.
    Request(u64, Request),
    Notification(NotifyConnection),
}

/// The error if too many messages are waiting for a connection to open.
pub(crate) fn too_many_wait() -> BridgeError {
    BridgeError::new(
        ErrorKind::Busy,
        format!("{MAX_WAITING} requests and notifications are already waiting for the connection to open"),
    )
}

/// The host's end of a registration. Its calls go to the host.
pub(crate) struct HostTarget {
    queue: Weak<EventQueue>,
    handle: OnceLock<u64>,
    pub(crate) lane: Lane,
}

impl HostTarget {
    pub(crate) fn new(queue: &Arc<EventQueue>, lane: Lane) -> Arc<Self> {
        Arc::new(Self { queue: Arc::downgrade(queue), handle: OnceLock::new(), lane })
    }

    /// Sets the handle, once.
    pub(crate) fn set_handle(&self, handle: u64) {
        let _ = self.handle.set(handle);
    }

    pub(crate) fn handle(&self) -> Option<u64> {
        self.handle.get().copied()
    }
}

impl Drop for HostTarget {
    /// It was removed and its last call is over, so the host can release it.
    fn drop(&mut self) {
        if let (Some(queue), Some(&handle)) = (self.queue.upgrade(), self.handle.get())
            && queue.is_of_this_process()
        {
            queue.push(Lane::Queue, Event { kind: EventKind::Freed, handle, ..Event::default() });
        }
    }
}

/// An exchange: a request from a web framework that is being answered.
pub(crate) struct HttpExchange {
    pub(crate) feed: BodyFeed,
    pub(crate) credit: Credit,
    cancelled: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl HttpExchange {
    pub(crate) fn new(feed: BodyFeed) -> Arc<Self> {
        let (credit, cancelled, task) = (Credit::default(), AtomicBool::new(false), OnceLock::new());
        Arc::new(Self { feed, credit, cancelled, task })
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Called when the host no longer wants the response.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    pub(crate) fn runs_as(&self, task: AbortHandle) {
        let _ = self.task.set(task);
        if self.cancelled.load(Ordering::Acquire) {
            self.cancel();
        }
    }
}

//! What handles and tickets refer to.

use super::{
    connection::Connection,
    credit::Credit,
    error::{BridgeError, ErrorKind},
    event::{Event, EventKind, Lane},
    message::{NotifyConnection, Request},
    queue::EventQueue,
    slot::ReplySlot,
    table::{HandleKind, HandleTable},
    task_progress::TaskProgress,
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
pub(super) const MAX_WAITING: usize = 16_384;

/// All tables of a port, one per kind.
pub(super) struct Tables {
    pub(super) servers: HandleTable<Server>,
    pub(super) features: HandleTable<RegisteredFeature>,
    pub(super) verifiers: HandleTable<Verifier>,
    pub(super) listeners: HandleTable<OpenState<Arc<Listener>>>,
    pub(super) connections: HandleTable<OpenState<Connection>>,
    pub(super) calls: HandleTable<HostCall>,
    pub(super) verifications: HandleTable<Verification>,
    pub(super) requests: HandleTable<HostRequest>,
    pub(super) exchanges: HandleTable<Arc<HttpExchange>>,
    pub(super) server_requests: HandleTable<PendingServerRequest>,
    pub(super) lost: LostConnections,
}

/// Why connections were lost, for later requests on them.
#[derive(Default)]
pub(super) struct LostConnections(VecDeque<(u64, String)>);

impl LostConnections {
    /// How many are remembered.
    const MOST: usize = 64;

    pub(super) fn note(&mut self, handle: u64, reason: String) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((handle, reason));
    }

    pub(super) fn reason(&self, handle: u64) -> Option<&str> {
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
    pub(super) fn len(&self) -> usize {
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
pub(super) struct RegisteredFeature {
    pub(super) server: Server,
    /// Its id in the registry. `None` while it is being added, and for anything that is in no list.
    pub(super) id: Option<u64>,
    /// Its host target if the registry doesn't hold it: for a `visibility` function, and for
    /// features that the core answers itself.
    pub(super) target: Option<Arc<HostTarget>>,
}

/// A token verifier of the host.
pub(super) struct Verifier {
    pub(super) server: Server,
    pub(super) target: Arc<HostTarget>,
}

/// A listener or a connection.
pub(super) enum OpenState<T> {
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
    pub(super) fn opening(slot: Option<Arc<ReplySlot>>) -> Self {
        Self::Opening { slot, waiting: Vec::new(), task: None }
    }

    pub(super) fn get(&self) -> Option<&T> {
        match self {
            Self::Open { thing, .. } => Some(thing),
            Self::Opening { .. } | Self::Failed(_) => None,
        }
    }

    /// Returns whether it is open or opening.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    pub(super) fn slot(&self) -> Option<Arc<ReplySlot>> {
        match self {
            Self::Opening { slot, .. } | Self::Open { slot, .. } => slot.clone(),
            Self::Failed(slot) => Some(Arc::clone(slot)),
        }
    }
}

impl HandleTable<HostRequest> {
    /// Removes a fetched reply to a request. A stream stays open.
    pub(super) fn forget_reply(&mut self, ticket: u64) {
        match self.get_mut(ticket) {
            Some(HostRequest::Stream { slot, .. }) => *slot = None,
            _ => drop(self.remove(ticket)),
        }
    }
}

impl<T> HandleTable<OpenState<T>> {
    /// Removes a fetched reply to an open, and the entry itself if opening failed.
    pub(super) fn forget_reply(&mut self, handle: u64) {
        match self.get_mut(handle) {
            Some(OpenState::Open { slot, .. }) => *slot = None,
            Some(OpenState::Failed(_)) => drop(self.remove(handle)),
            Some(OpenState::Opening { .. }) | None => {}
        }
    }
}

/// Listeners and connections.
pub(super) trait Openable: Clone + Send + Sync + Sized + 'static {
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
pub(super) struct HostCall {
    pub(super) call: Call,
    pub(super) info: CallInfo,
    /// Kept alive as long as the host may look up what is called.
    pub(super) _target: Arc<HostTarget>,
}

/// The host's response to a server request.
pub(super) type HostAnswer = Result<RawJson, RpcError>;

/// A pending server request.
pub(super) struct PendingServerRequest {
    pub(super) answer: oneshot::Sender<HostAnswer>,
    /// Its telemetry number, or 0 without telemetry.
    pub(super) operation: u64,
    /// Failures are reported in full, because no peer sees them.
    pub(super) is_private: bool,
}

/// A host's request.
pub(super) enum HostRequest {
    /// `sent` is `None` while the request is waiting for its connection or being sent.
    Running { slot: Option<Arc<ReplySlot>>, sent: Option<RunningRequest>, handle: u64 },
    /// Completed, but the reply has not been fetched yet.
    Done(Arc<ReplySlot>),
    /// An open stream. Its reply may not have been fetched yet.
    Stream { open: Arc<OpenStream>, slot: Option<Arc<ReplySlot>> },
}

/// An open stream.
pub(super) struct OpenStream {
    pub(super) connection: u64,
    pub(super) source: StreamSource,
    /// Held by the request that is waiting for the next item.
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// The source of a stream.
pub(super) enum StreamSource {
    /// Changes at a server.
    Subscription(Subscription),
    /// States of a task.
    Task(ClientTask, Arc<TaskProgress>),
}

impl HostRequest {
    /// A request that has not been sent yet.
    pub(super) fn running(given: &Request, handle: u64) -> Self {
        Self::Running { slot: given.wait.then(Arc::default), sent: None, handle }
    }

    pub(super) fn slot(&self) -> Option<Arc<ReplySlot>> {
        match self {
            Self::Running { slot, .. } | Self::Stream { slot, .. } => slot.clone(),
            Self::Done(slot) => Some(Arc::clone(slot)),
        }
    }
}

/// A request in flight.
pub(super) enum RunningRequest {
    /// To a server.
    ToServer(Client, Arc<ClientCall>),
    /// From a handler to the client of its call.
    ToClient(CallInfo, PendingClientRequest),
    /// A task of this port.
    Task(AbortHandle),
}

/// A request or notification made before its connection was open.
pub(super) enum WaitingMessage {
    /// A request with its ticket.
    Request(u64, Request),
    Notification(NotifyConnection),
}

/// The error if too many messages are waiting for a connection to open.
pub(super) fn too_many_wait() -> BridgeError {
    BridgeError::new(
        ErrorKind::Busy,
        format!("{MAX_WAITING} requests and notifications are already waiting for the connection to open"),
    )
}

/// The host's end of a registration. Its calls go to the host.
pub(super) struct HostTarget {
    queue: Weak<EventQueue>,
    handle: OnceLock<u64>,
    pub(super) lane: Lane,
}

impl HostTarget {
    pub(super) fn new(queue: &Arc<EventQueue>, lane: Lane) -> Arc<Self> {
        Arc::new(Self { queue: Arc::downgrade(queue), handle: OnceLock::new(), lane })
    }

    /// Sets the handle, once.
    pub(super) fn set_handle(&self, handle: u64) {
        let _ = self.handle.set(handle);
    }

    pub(super) fn handle(&self) -> Option<u64> {
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
pub(super) struct HttpExchange {
    pub(super) feed: BodyFeed,
    pub(super) credit: Credit,
    cancelled: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl HttpExchange {
    pub(super) fn new(feed: BodyFeed) -> Arc<Self> {
        let (credit, cancelled, task) = (Credit::default(), AtomicBool::new(false), OnceLock::new());
        Arc::new(Self { feed, credit, cancelled, task })
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Called when the host no longer wants the response.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    pub(super) fn runs_as(&self, task: AbortHandle) {
        let _ = self.task.set(task);
        if self.cancelled.load(Ordering::Acquire) {
            self.cancel();
        }
    }
}

//! The objects behind the handles and tickets of a port.

use crate::{
    BridgeError, ErrorKind, Lane,
    events::queue::EventQueue,
    http::credit::Credit,
    message::{Fail, NotifyConnection, Request},
    requests::task_progress::TaskProgress,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::oneshot, task::AbortHandle};
use trunkline::{
    bridge_support::{BodyFeed, ClientCall},
    client::{Client, ClientError, ClientGroup, ClientHandlers, ClientTask, Subscription},
    protocol::{RawJson, model::Root},
    server::{Call, CallInfo, PendingClientRequest, Server},
};

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
    /// Lets the host release a target that was removed and whose last call is over.
    fn drop(&mut self) {
        if let (Some(queue), Some(&handle)) = (self.queue.upgrade(), self.handle.get()) {
            queue.push_freed(handle);
        }
    }
}

/// A call of a handler.
pub(crate) struct HandlerCall {
    pub(crate) call: Call,
    /// Kept alive as long as the host may look up what is called.
    pub(crate) _target: Arc<HostTarget>,
}

/// A call of a host function.
pub(crate) struct FunctionCall {
    pub(crate) answer: oneshot::Sender<Result<RawJson, Fail>>,
    /// Its telemetry number, or 0 without telemetry.
    pub(crate) operation: u64,
    /// Its failures are reported in full, because no peer sees them.
    pub(crate) is_private: bool,
}

/// A registered feature, middleware or hook.
pub(crate) struct Registered {
    pub(crate) server: Server,
    /// The kind of its registration.
    pub(crate) kind: &'static str,
    /// Its id in the registry. `None` while it is being added, and for hooks, which are in no list.
    pub(crate) id: Option<u64>,
    /// Its host target if the registry doesn't hold it: of hooks, and of features that the core
    /// answers itself.
    pub(crate) target: Option<Arc<HostTarget>>,
}

/// A task that opens something, and what its host holds while a custom transport is in use.
pub(crate) type OpeningTask = (AbortHandle, Arc<tokio::sync::Mutex<()>>);

/// A listener or a connection.
pub(crate) enum OpenState<T> {
    /// Being opened.
    Opening {
        /// Messages to send when the connection is open.
        waiting: Vec<WaitingMessage>,
        task: Option<OpeningTask>,
    },
    Open(T),
}

/// A request or notification made before its connection was open.
pub(crate) enum WaitingMessage {
    /// A request with its ticket.
    Request(u64, Request),
    Notification(NotifyConnection),
}

impl WaitingMessage {
    /// As many as may be in flight on an open connection.
    const MAX_WAITING: usize = 16_384;

    /// Fails if no more messages can wait.
    pub(crate) fn check_room(waiting: &[Self]) -> Result<(), BridgeError> {
        if waiting.len() < Self::MAX_WAITING {
            return Ok(());
        }
        let most = Self::MAX_WAITING;
        let text = format!("{most} requests and notifications are already waiting for the connection to open");
        Err(BridgeError::new(ErrorKind::Busy, text))
    }
}

impl<T> OpenState<T> {
    pub(crate) fn opening() -> Self {
        Self::Opening { waiting: Vec::new(), task: None }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Open(thing) => Some(thing),
            Self::Opening { .. } => None,
        }
    }
}

/// A host's request.
pub(crate) enum HostRequest {
    /// `sent` is `None` while the request is waiting for its connection or being sent.
    Running {
        sent: Option<RunningRequest>,
        handle: u64,
    },
    Stream(Arc<OpenStream>),
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

impl RunningRequest {
    pub(crate) fn cancel(&self, reason: &str) {
        match self {
            Self::ToServer(client, call) => client.cancel(call, reason),
            Self::ToClient(info, request) => info.cancel_client_request(request, reason),
            Self::Task(task) => task.abort(),
        }
    }
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

    /// Called when the host no longer needs the response.
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

/// An open connection.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The client of the server or group.
    pub(crate) client: Client,
    pub(crate) group: Option<Arc<ClientGroup>>,
    /// The names of its authorization and transport functions.
    pub(crate) functions: Arc<BTreeSet<String>>,
}

impl Connection {
    pub(crate) fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_handlers(handlers),
            None => self.client.set_handlers(handlers),
        }
    }

    #[expect(deprecated, reason = "older revisions have it")]
    pub(crate) fn set_roots(&self, roots: Vec<Root>) -> Result<(), ClientError> {
        match &self.group {
            Some(group) => group.set_roots(roots),
            None => self.client.set_roots(roots),
        }
    }
}

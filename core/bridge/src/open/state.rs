//! The state of a listener or connection (opening, open, failed, ended), and the events that its
//! changes cause.

use crate::{
    BridgeError, ErrorKind, Event, EventKind, Lane, PortState,
    events::slot::ReplySlot,
    message::{NotifyConnection, Request},
    open::connection::Connection,
    requests::replies,
    state::{table::HandleTable, tables::Tables},
};
use serde_json::Value;
use std::{future::Future, sync::Arc, time::Duration};
use tokio::task::AbortHandle;
use trunkline::transport::Listener;

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

/// A request or notification made before its connection was open.
pub(crate) enum WaitingMessage {
    /// A request with its ticket.
    Request(u64, Request),
    Notification(NotifyConnection),
}

impl WaitingMessage {
    /// Maximum messages waiting for their connection to open; as many as may be in flight on an
    /// open one.
    const MOST: usize = 16_384;

    /// Fails if no more messages can wait.
    pub(crate) fn check_room(waiting: &[Self]) -> Result<(), BridgeError> {
        if waiting.len() < Self::MOST {
            return Ok(());
        }
        let most = Self::MOST;
        let text = format!("{most} requests and notifications are already waiting for the connection to open");
        Err(BridgeError::new(ErrorKind::Busy, text))
    }
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

/// Marks an opening entry as open and returns the messages that were waiting for it, or `None` if
/// it was closed in the meantime.
pub(crate) fn become_open<T: Openable>(state: &PortState, handle: u64, thing: T) -> Option<Vec<WaitingMessage>> {
    let mut tables = state.tables.lock();
    let entry = T::table(&mut tables).get_mut(handle)?;
    let OpenState::Opening { slot, waiting, .. } = entry else { return None };
    let (slot, waiting) = (slot.take(), std::mem::take(waiting));
    *entry = OpenState::Open { thing, slot };
    Some(waiting)
}

pub(crate) fn failed_to_open<T: Openable>(state: &PortState, handle: u64, error: BridgeError) {
    let Some((slot, waiting)) = take_opening::<T>(state, handle) else { return };
    opened(state, handle, slot, Err(error.clone()));
    for waiting in waiting {
        if let WaitingMessage::Request(ticket, _) = waiting {
            replies::finish(state, ticket, Err(error.clone()));
        }
    }
}

/// Removes an opening entry. If a thread waits for its reply, the number stays valid until it has
/// been fetched.
fn take_opening<T: Openable>(state: &PortState, handle: u64) -> Option<(Option<Arc<ReplySlot>>, Vec<WaitingMessage>)> {
    let mut tables = state.tables.lock();
    let table = T::table(&mut tables);
    let entry = table.get_mut(handle)?;
    let OpenState::Opening { slot, waiting, .. } = entry else { return None };
    let taken = (slot.take(), std::mem::take(waiting));
    match &taken.0 {
        Some(slot) => *entry = OpenState::Failed(Arc::clone(slot)),
        None => drop(table.remove(handle)),
    }
    Some(taken)
}

/// The outcome of an open.
pub(crate) fn opened(
    state: &PortState,
    handle: u64,
    slot: Option<Arc<ReplySlot>>,
    outcome: Result<Value, BridgeError>,
) {
    replies::send_outcome(state, handle, handle, slot, outcome.map(|described| described.to_string().into()));
}

/// Reports the end of a listener or connection, once.
pub(crate) fn ended<T: Openable>(state: &PortState, handle: u64, error: Option<BridgeError>) {
    let open = {
        let mut tables = state.tables.lock();
        let table = T::table(&mut tables);
        let is_open = matches!(table.get(handle), Some(OpenState::Open { .. }));
        let open = if is_open { table.remove(handle) } else { None };
        if let (true, Some(error)) = (is_open, &error) {
            tables.lost.note(handle, error.message.clone());
        }
        open
    };
    if open.is_some() {
        let closed = Event { kind: EventKind::Closed, handle, body: error.into(), ..Event::default() };
        state.queue.push(Lane::Queue, closed);
        state.queue.ring_for_threads();
    }
}

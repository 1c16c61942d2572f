//! The state of a listener or connection (opening, open, failed, ended), and the events that its
//! changes cause.

use crate::{
    BridgeError, ErrorKind, Event, EventKind, Lane, PortState,
    requests::replies,
    state::{
        entries::{Connection, OpenState, OpeningTask, WaitingMessage},
        table::HandleTable,
        tables::Tables,
    },
};
use serde_json::Value;
use std::{future::Future, marker::PhantomData, sync::Arc, time::Duration};
use trunkline::transport::Listener;

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
    let OpenState::Opening { waiting, .. } = entry else { return None };
    let waiting = std::mem::take(waiting);
    *entry = OpenState::Open(thing);
    Some(waiting)
}

/// Sets the task to abort if something is closed while it is opening, which it may be already.
pub(super) fn ends_with<T: Openable>(state: &PortState, handle: u64, opening: OpeningTask) {
    match T::table(&mut state.tables.lock()).get_mut(handle) {
        Some(OpenState::Opening { task, .. }) => *task = Some(opening),
        Some(OpenState::Open(_)) => {}
        None => opening.0.abort(),
    }
}

/// Reports that the opening failed, also to the messages that were waiting for it.
pub(super) fn failed_to_open(state: &PortState, handle: u64, waiting: Vec<WaitingMessage>, error: BridgeError) {
    opened(state, handle, Err(error.clone()));
    for waiting in waiting {
        if let WaitingMessage::Request(ticket, _) = waiting {
            replies::finish(state, ticket, Err(error.clone()));
        }
    }
}

/// Removes an opening entry. If a thread waits for its reply, the number stays valid until it has
/// been fetched.
pub(super) fn take_opening<T: Openable>(
    state: &PortState,
    handle: u64,
) -> Option<(Vec<WaitingMessage>, Option<OpeningTask>)> {
    let mut tables = state.tables.lock();
    let table = T::table(&mut tables);
    let OpenState::Opening { waiting, task } = table.get_mut(handle)? else { return None };
    let taken = (std::mem::take(waiting), task.take());
    table.remove(handle);
    Some(taken)
}

/// The outcome of an open.
pub(crate) fn opened(state: &PortState, handle: u64, outcome: Result<Value, BridgeError>) {
    let slot = state.tables.lock().reply_slot(handle);
    replies::send_outcome(state, handle, handle, slot, outcome.map(|described| described.to_string().into()));
}

/// Reports the end of a listener or connection, once.
pub(crate) fn ended<T: Openable>(state: &PortState, handle: u64, error: Option<BridgeError>) {
    let mut tables = state.tables.lock();
    let table = T::table(&mut tables);
    if !matches!(table.get(handle), Some(OpenState::Open(_))) {
        return;
    }
    let _dropped_unlocked = table.remove(handle);
    if let Some(error) = &error {
        tables.lost.note(handle, error.message.clone());
    }
    drop(tables);
    let closed = Event { kind: EventKind::Closed, handle, body: error.into(), ..Event::default() };
    state.queue.push(Lane::Queue, closed);
    state.queue.ring_for_threads();
}

/// A listener or connection that is opening. However the task ends, the host gets a reply.
pub(super) struct PendingOpen<T: Openable> {
    pub(super) state: Arc<PortState>,
    pub(super) handle: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Openable> PendingOpen<T> {
    pub(super) fn enter(state: &Arc<PortState>, wait: bool) -> Result<Self, BridgeError> {
        let handle = state.insert_opening(wait, |tables| T::table(tables).insert(OpenState::opening()))?;
        Ok(Self { handle, state: Arc::clone(state), of: PhantomData })
    }

    pub(super) fn opened(&self, described: Value) {
        opened(&self.state, self.handle, Ok(described));
    }

    pub(super) fn failed(&self, error: BridgeError) {
        if let Some((waiting, _)) = take_opening::<T>(&self.state, self.handle) {
            failed_to_open(&self.state, self.handle, waiting, error);
        }
    }
}

impl<T: Openable> Drop for PendingOpen<T> {
    fn drop(&mut self) {
        // A no-op if it was opened or has failed normally. That leaves panics and the end of the
        // runtime.
        self.failed(BridgeError::new(ErrorKind::Internal, "The opening was aborted by an internal error"));
    }
}

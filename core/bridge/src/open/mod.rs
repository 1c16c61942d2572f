//! Listeners and connections, from `open` to their end.

pub(crate) mod closing;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod connectors;
pub(crate) mod endpoint_auth;
pub(crate) mod foreground;
pub(crate) mod groups;
pub(crate) mod host_reads;
pub(crate) mod listeners;
pub(crate) mod ports;
pub(crate) mod read;
pub(crate) mod state;

use crate::{BridgeError, ErrorKind, PortState, events::slot::ReplySlot, message::OpenMessage};
use read::Opened;
use serde_json::Value;
use state::{OpenState, Openable, failed_to_open};
use std::{marker::PhantomData, sync::Arc};

pub(crate) fn open(state: &Arc<PortState>, mut given: OpenMessage) -> Result<u64, BridgeError> {
    match read::opened(&mut given)? {
        Opened::Listener(server) => listeners::open(state, server, given),
        Opened::Connection(options) => connections::open(state, *options, given),
    }
}

/// Validates an open without performing it.
pub(crate) fn check(state: &Arc<PortState>, mut given: OpenMessage) -> Result<(), BridgeError> {
    match read::opened(&mut given)? {
        Opened::Listener(_) => read::endpoint(state, given.transport).map(drop),
        Opened::Connection(_) => read::connecting(given.transport).map(drop),
    }
}

/// A listener or connection that is opening. However the task ends, the host gets a reply.
struct PendingOpen<T: Openable> {
    state: Arc<PortState>,
    handle: u64,
    slot: Option<Arc<ReplySlot>>,
    of: PhantomData<fn() -> T>,
}

impl<T: Openable> PendingOpen<T> {
    fn enter(state: &Arc<PortState>, wait: bool) -> Result<Self, BridgeError> {
        let slot = wait.then(Arc::<ReplySlot>::default);
        let entry = OpenState::opening(slot.clone());
        let handle = state.insert_opening(|tables| T::table(tables).insert(entry))?;
        Ok(Self { handle, state: Arc::clone(state), slot, of: PhantomData })
    }

    fn opened(&self, described: Value) {
        state::opened(&self.state, self.handle, self.slot.clone(), Ok(described));
    }

    fn failed(&self, error: BridgeError) {
        failed_to_open::<T>(&self.state, self.handle, error);
    }
}

impl<T: Openable> Drop for PendingOpen<T> {
    fn drop(&mut self) {
        // A no-op if it was opened or has failed normally. That leaves panics and the end of the
        // runtime.
        self.failed(BridgeError::new(ErrorKind::Internal, "The opening was aborted by an internal error"));
    }
}

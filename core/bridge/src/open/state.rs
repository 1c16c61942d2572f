//! State changes of a listener or connection (open, failed, ended), and the events they cause.

use crate::{
    error::BridgeError,
    events::{Event, EventKind, Lane, slot::ReplySlot},
    requests::replies,
    state::{
        PortState,
        entries::{OpenState as Entry, Openable, WaitingMessage},
    },
};
use serde_json::Value;
use std::sync::Arc;

/// Marks an opening entry as open and returns the messages that were waiting for it, or `None` if
/// it was closed in the meantime.
pub(crate) fn become_open<T: Openable>(state: &PortState, handle: u64, thing: T) -> Option<Vec<WaitingMessage>> {
    let mut tables = state.tables.lock();
    let endpoint = T::table(&mut tables).get_mut(handle)?;
    let Entry::Opening { slot, waiting, .. } = endpoint else { return None };
    let (slot, waiting) = (slot.take(), std::mem::take(waiting));
    *endpoint = Entry::Open { thing, slot };
    Some(waiting)
}

pub(crate) fn failed_to_open<T: Openable>(state: &PortState, handle: u64, error: BridgeError) {
    let Some((slot, waiting)) = take_opening::<T>(state, handle) else { return };
    opened(state, handle, slot.as_deref(), Err(error.clone()));
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
    let endpoint = table.get_mut(handle)?;
    let Entry::Opening { slot, waiting, .. } = endpoint else { return None };
    let taken = (slot.take(), std::mem::take(waiting));
    match &taken.0 {
        Some(slot) => *endpoint = Entry::Failed(Arc::clone(slot)),
        None => drop(table.remove(handle)),
    }
    Some(taken)
}

/// The outcome of an open.
pub(crate) fn opened(state: &PortState, handle: u64, slot: Option<&ReplySlot>, outcome: Result<Value, BridgeError>) {
    let outcome = outcome.map(|described| described.to_string().into());
    match slot {
        Some(slot) => {
            slot.fill(outcome);
            state.queue.ring_for_threads();
        }
        None => replies::send_reply(&state.queue, handle, handle, outcome),
    }
}

/// Reports the end of a listener or connection, once.
pub(crate) fn ended<T: Openable>(state: &PortState, handle: u64, error: Option<BridgeError>) {
    let open = {
        let mut tables = state.tables.lock();
        let table = T::table(&mut tables);
        let is_open = matches!(table.get(handle), Some(Entry::Open { .. }));
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

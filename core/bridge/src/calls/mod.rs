//! Calls that the host handles.

pub(crate) mod causes;
pub(crate) mod outcomes;
pub(crate) mod verifications;

use crate::{
    error::BridgeError,
    events::{Event, EventKind, Lane, Shape},
    message::Fail,
    state::{
        PortState,
        entries::{HostCall, HostTarget},
    },
};
use bytes::Bytes;
use std::sync::{Arc, Weak};
use trunkline::server::{Call, Handler, Outcome};

/// The handler registered at the server for a [`HostTarget`].
pub(crate) struct HostHandler {
    state: Weak<PortState>,
    target: Arc<HostTarget>,
    /// The name of the calls, if the target has several kinds.
    name: &'static str,
}

impl HostHandler {
    pub(crate) fn new(state: &Arc<PortState>, target: Arc<HostTarget>) -> Self {
        Self { state: Arc::downgrade(state), target, name: "" }
    }

    /// The same handler, with another name for its calls.
    pub(crate) fn named(&self, name: &'static str) -> Self {
        Self { state: Weak::clone(&self.state), target: Arc::clone(&self.target), name }
    }
}

impl Handler for HostHandler {
    fn call(&self, call: Call) {
        let (Some(state), Some(handle)) = (self.state.upgrade(), self.target.handle()) else { return };
        let body = call.input().clone().into_bytes();
        let info = call.info().clone();
        let call = HostCall { call, info: info.clone(), _target: Arc::clone(&self.target) };
        let Some(ticket) = state.tables.lock().calls.insert(call) else { return };
        let lane = self.target.lane;
        let event = Event { kind: EventKind::Call, ticket, handle, name: self.name.to_owned(), ..Event::default() };
        state.queue.push(lane, Event { body: body.into(), ..event.coming_of(info.cause(), state.number) });
        let state = Weak::clone(&self.state);
        info.on_cancel(move |reason| {
            let Some(state) = state.upgrade() else { return };
            let call = state.tables.lock().calls.remove(ticket);
            if call.is_some() {
                call_off(&state, lane, ticket, handle, Bytes::copy_from_slice(reason.as_bytes()));
            }
        });
    }
}

/// Withdraws a cancelled call that has been removed from its table. Admission no longer counts it,
/// so it must not stay in the queue. A host that has not drained it is not notified; otherwise it
/// gets `Cancel`. Pool threads notice because the ticket is stale.
pub(crate) fn call_off(state: &PortState, lane: Lane, ticket: u64, handle: u64, reason: Bytes) {
    if !state.queue.withdraw(lane, ticket) && lane == Lane::Queue {
        let cancel = Event { kind: EventKind::Cancel, ticket, handle, body: reason.into(), ..Event::default() };
        state.queue.push(lane, cancel);
    }
}

/// Completes a call. Returns `false` if it was already completed.
pub(crate) fn complete(state: &PortState, ticket: u64, shape: Shape, body: Bytes) -> Result<bool, BridgeError> {
    Ok(finish(state, ticket, outcomes::of(shape, body)?))
}

/// Fails a call. Returns `false` if it was already completed.
pub(crate) fn fail(state: &PortState, ticket: u64, given: Fail) -> Result<bool, BridgeError> {
    Ok(finish(state, ticket, outcomes::failure(given)?))
}

fn finish(state: &PortState, ticket: u64, outcome: Outcome) -> bool {
    // The lock is released before the call is completed.
    let call = state.tables.lock().calls.remove(ticket);
    call.is_some_and(|call| call.call.complete(outcome))
}

//! Calls that the host answers: those of handlers, verifiers and host functions. All of them are
//! queued, answered and called off here.

pub(crate) mod causes;
pub(crate) mod handlers;
pub(crate) mod outcomes;
pub(crate) mod verifications;

use crate::{
    BridgeError, Event, EventKind, Lane, PortState, Shape,
    message::Fail,
    state::{
        entries::{FunctionCall, HandlerCall},
        tables::{HandleKind, TableEntry},
    },
};
use bytes::Bytes;
use std::sync::{Arc, Weak};
use trunkline::auth::Verification;

/// The host's argument to `complete` or `fail`.
pub(crate) enum HostAnswer {
    Result(Shape, Bytes),
    Failure(Fail),
}

/// A call that waits for the host's answer.
pub(crate) trait PendingCall: TableEntry {
    type Answer;

    fn read(given: HostAnswer) -> Result<Self::Answer, BridgeError>;

    /// Rejects an answer that is invalid for this call.
    fn check(&self, _: &Self::Answer) -> Result<(), BridgeError> {
        Ok(())
    }

    /// Delivers the answer. Returns `false` if nothing waits for it.
    fn answer(self, answer: Self::Answer) -> bool;
}

/// A call that has been queued for the host.
pub(crate) struct QueuedCall {
    state: Weak<PortState>,
    lane: Lane,
    ticket: u64,
    handle: u64,
}

impl QueuedCall {
    /// Queues a call. The event has everything except its kind and its ticket. Returns `None` if
    /// the port has no tickets left, or has stopped.
    pub(crate) fn push<T: PendingCall>(state: &Arc<PortState>, lane: Lane, call: T, event: Event) -> Option<Self> {
        let ticket = T::table(&mut state.tables.lock()).insert(call)?;
        let queued = Self { state: Arc::downgrade(state), lane, ticket, handle: event.handle };
        state.queue.push(lane, Event { kind: EventKind::Call, ticket, ..event });
        if state.queue.is_stopped() {
            // The host may not have drained it.
            queued.call_off::<T>(Bytes::new());
            return None;
        }
        Some(queued)
    }

    /// Withdraws the call, unless it has been answered. Admission no longer counts it, so it must
    /// not stay in the queue. A host that has drained it gets `Cancel`; pool threads notice because
    /// the ticket is stale.
    pub(crate) fn call_off<T: PendingCall>(&self, reason: Bytes) {
        let Some(state) = self.state.upgrade() else { return };
        let call = T::table(&mut state.tables.lock()).remove(self.ticket);
        if call.is_some() && !state.queue.withdraw(self.lane, self.ticket) && self.lane == Lane::Queue {
            let (kind, body) = (EventKind::Cancel, reason.into());
            state
                .queue
                .push(self.lane, Event { kind, ticket: self.ticket, handle: self.handle, body, ..Event::default() });
        }
    }
}

/// Answers a call. Returns `false` if it was already answered.
pub(crate) fn answer(state: &PortState, ticket: u64, given: HostAnswer) -> Result<bool, BridgeError> {
    match HandleKind::of(ticket) {
        Some(HandleKind::Verification) => answer_as::<Verification>(state, ticket, given),
        Some(HandleKind::FunctionCall) => answer_as::<FunctionCall>(state, ticket, given),
        _ => answer_as::<HandlerCall>(state, ticket, given),
    }
}

fn answer_as<T: PendingCall>(state: &PortState, ticket: u64, given: HostAnswer) -> Result<bool, BridgeError> {
    match T::read(given) {
        Ok(answer) => {
            // The lock is released before the call is answered.
            let call = {
                let mut tables = state.tables.lock();
                let table = T::table(&mut tables);
                table.get(ticket).map_or(Ok(()), |call| call.check(&answer))?;
                table.remove(ticket)
            };
            Ok(call.is_some_and(|call| call.answer(answer)))
        }
        Err(error) if is_waiting(state, ticket) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns whether a call still waits for its answer.
pub(crate) fn is_waiting(state: &PortState, ticket: u64) -> bool {
    let tables = state.tables.lock();
    tables.calls.get(ticket).is_some()
        || tables.verifications.get(ticket).is_some()
        || tables.function_calls.get(ticket).is_some()
}

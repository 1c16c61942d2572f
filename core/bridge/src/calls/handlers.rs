//! Handlers of servers that pass their calls to the host.

use crate::{
    BridgeError, Event, PortState,
    calls::{HostAnswer, PendingCall, QueuedCall, outcomes},
    state::entries::{HandlerCall, HostTarget},
};
use bytes::Bytes;
use std::sync::{Arc, Weak};
use trunkline::server::{Call, Handler, Outcome};

/// The handler or verifier registered at the server for a [`HostTarget`].
pub(crate) struct HostHandler {
    pub(super) state: Weak<PortState>,
    pub(super) target: Arc<HostTarget>,
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
        let body = call.input().clone().into_bytes().into();
        let info = call.info().clone();
        let event = Event { handle, name: self.name.to_owned(), body, ..Event::default() };
        let event = event.coming_of(info.cause(), state.number);
        let call = HandlerCall { call, _target: Arc::clone(&self.target) };
        if let Some(queued) = QueuedCall::push(&state, self.target.lane, call, event) {
            info.on_cancel(move |reason| queued.call_off::<HandlerCall>(Bytes::copy_from_slice(reason.as_bytes())));
        }
    }
}

impl PendingCall for HandlerCall {
    type Answer = Outcome;

    fn read(given: HostAnswer) -> Result<Outcome, BridgeError> {
        outcomes::read(given)
    }

    fn answer(self, outcome: Outcome) -> bool {
        self.call.complete(outcome)
    }
}

//! The part of sending a request that is the same for all receivers.

use crate::{
    BridgeError, ErrorKind, PortState,
    calls::causes,
    message::Request,
    state::entries::{HostRequest, RunningRequest},
};

/// The error of a request without a receiver.
pub(crate) fn no_receiver() -> BridgeError {
    BridgeError::new(ErrorKind::Closed, "The connection is closed, or the call has ended")
}

/// Makes a request the cause of the calls that result from it, if the host asked for that.
pub(crate) fn set_cause(state: &PortState, ticket: u64, given: &mut Request) {
    if given.causes {
        given.options.cause = Some(causes::of(state, ticket));
    }
}

/// The ticket of a request, which is removed if the request could not be sent.
pub(crate) fn sent(state: &PortState, ticket: u64, sent: Result<(), BridgeError>) -> Result<u64, BridgeError> {
    sent.map(|()| ticket).inspect_err(|_| drop(take_request(state, ticket)))
}

/// Removes a request without a reply. It must be dropped without the lock.
pub(crate) fn take_request(state: &PortState, ticket: u64) -> Option<HostRequest> {
    let mut tables = state.tables.lock();
    tables.replies.remove(&ticket);
    tables.requests.remove(ticket)
}

/// Stores what is needed to cancel the request. If it was cancelled while being sent, it is
/// cancelled now.
pub(crate) fn note_sent(state: &PortState, ticket: u64, running: RunningRequest) {
    let mut tables = state.tables.lock();
    match tables.requests.get_mut(ticket) {
        Some(HostRequest::Running { sent, .. }) => *sent = Some(running),
        // The request is already done.
        Some(_) => {}
        None => {
            drop(tables);
            running.cancel("");
        }
    }
}

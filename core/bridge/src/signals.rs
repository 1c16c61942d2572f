//! The end of a program that serves in the foreground, by signals that its host may be too blocked
//! to see.

use super::{
    closing::close_one,
    entries::OpenState,
    error::{BridgeError, ErrorKind},
    foreground::{exit, exit_blocked, is_blocked},
    state::PortState,
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use trunkline::{
    bridge_support::{CUT_TIMEOUT, EndingSignals},
    transport::Listener,
};

/// Takes the signals, beside the host, until the listener has ended. The first one ends it within
/// its drain deadline, though the host may be blocked; if the host does not take that end, the
/// process exits. A second one that a blocked host has not given back to the system ends the
/// process at once.
pub(super) fn end_by_signals(state: &Arc<PortState>, handle: u64) -> Result<(), BridgeError> {
    let listener = match state.tables.lock().listeners.get(handle) {
        Some(OpenState::Open { thing, .. }) => Arc::clone(thing),
        // It has ended already.
        _ => return Ok(()),
    };
    let state = Arc::downgrade(state);
    let task = |mut signals: EndingSignals| async move {
        tokio::select! {
            _ = signals.next() => {}
            () = listener.ended() => return,
        }
        let deadline = listener.drain_time();
        if let Some(state) = state.upgrade() {
            close_one(&state, handle, deadline);
        }
        tokio::select! {
            status = signals.next() => exit(status),
            () = taken(&state, handle, &listener, deadline + CUT_TIMEOUT) => {}
        }
    };
    EndingSignals::take(task)
        .map_err(|error| BridgeError::new(ErrorKind::Internal, format!("signals cannot be handled: {error}")))
}

/// Completes when the host has taken the end of the listener. Exits if it has not in time.
async fn taken(state: &Weak<PortState>, handle: u64, listener: &Listener, time: Duration) {
    tokio::time::sleep(time).await;
    listener.ended().await;
    // The end is put into the queue a moment later.
    tokio::time::sleep(CUT_TIMEOUT / 5).await;
    if is_blocked(state, handle) {
        exit_blocked();
    }
}

//! Ends a foreground program on a signal, even if its host is blocked and cannot handle it.

use crate::{
    BridgeError, ErrorKind, PortState,
    open::{
        closing::close_one,
        foreground::{exit, exit_blocked, is_blocked},
        state::OpenState,
    },
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use trunkline::{
    bridge_support::{CUT_TIMEOUT, EndingSignals},
    transport::Listener,
};

/// Handles signals in addition to the host, until the listener has ended. The first signal closes
/// it within its drain deadline, even if the host is blocked; if the host doesn't drain that end,
/// the process exits. A second signal ends the process immediately, if the blocked host has not
/// restored the default action.
pub(crate) fn end_by_signals(state: &Arc<PortState>, handle: u64) -> Result<(), BridgeError> {
    let listener = match state.tables.lock().listeners.get(handle) {
        Some(OpenState::Open { thing, .. }) => Arc::clone(thing),
        // It has already ended.
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
        .map_err(|error| BridgeError::new(ErrorKind::Internal, format!("could not install signal handlers: {error}")))
}

/// Completes when the host has drained the end of the listener. Exits if that takes too long.
async fn taken(state: &Weak<PortState>, handle: u64, listener: &Listener, time: Duration) {
    tokio::time::sleep(time).await;
    listener.ended().await;
    // The end is queued a moment later.
    tokio::time::sleep(CUT_TIMEOUT / 5).await;
    if is_blocked(state, handle) {
        exit_blocked();
    }
}

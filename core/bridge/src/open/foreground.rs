//! Ends a foreground program with its listener, even if a handler blocks its host.

use crate::{
    BridgeError, ErrorKind, PortState, open::closing::close_one, process::stderr::write_stderr,
    state::entries::OpenState,
};
use std::{
    process,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use trunkline::{
    bridge_support::{BLOCKED_TIMEOUT, CUT_TIMEOUT, EndingSignals},
    transport::Listener,
};

/// Time for the exit handlers of the process, which the blocked handler may block as well.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Exits if the host does not drain the end of a listener in time.
pub(crate) fn exit_if_blocked(state: &Arc<PortState>, handle: u64) {
    let state = Arc::downgrade(state);
    // If no thread can be started, the process exits when the handler returns.
    let _ = thread::Builder::new().name("trunkline-exit".into()).spawn(move || {
        thread::sleep(BLOCKED_TIMEOUT);
        if is_blocked(&state, handle) {
            exit_blocked();
        }
    });
}

/// Returns whether the host has not drained the end yet. A port that no longer exists was closed by
/// its host.
fn is_blocked(state: &Weak<PortState>, handle: u64) -> bool {
    state.upgrade().is_some_and(|state| state.queue.is_of_this_process() && state.queue.holds_end_of(handle))
}

fn exit_blocked() -> ! {
    // The host no longer reads its log.
    write_stderr("trunkline: exiting while a handler is still blocking: its server has stopped\n");
    exit(1)
}

fn exit(status: i32) -> ! {
    let _ = thread::Builder::new().spawn(|| {
        thread::sleep(EXIT_TIMEOUT);
        process::abort();
    });
    process::exit(status)
}

/// Handles signals in addition to the host, until the listener has ended. The first signal closes
/// it within its drain deadline, even if the host is blocked; if the host doesn't drain that end,
/// the process exits. A second signal ends the process immediately, if the blocked host has not
/// restored the default action.
pub(crate) fn end_by_signals(state: &Arc<PortState>, handle: u64) -> Result<(), BridgeError> {
    let listener = match state.tables.lock().listeners.get(handle) {
        Some(OpenState::Open(thing)) => Arc::clone(thing),
        // It has already ended.
        _ => return Ok(()),
    };
    let state = Arc::downgrade(state);
    let task = |mut signals: EndingSignals| async move {
        tokio::select! {
            _ = signals.next() => {}
            () = listener.closed() => return,
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
    listener.closed().await;
    // The end is queued a moment later.
    tokio::time::sleep(CUT_TIMEOUT / 5).await;
    if is_blocked(state, handle) {
        exit_blocked();
    }
}

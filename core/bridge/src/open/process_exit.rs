//! Ends a foreground program with its listener, even if a handler blocks its host.

use crate::{
    BridgeError, ErrorKind, PortState, open::shutdown::close_one, process::stderr_writer::write_stderr,
    state::entries::OpenState,
};
use std::{
    process,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};
use trunkline::bridge_support::{CUT_TIMEOUT, EndingSignals};

/// Time for the exit handlers of the process, which the blocked handler may block as well.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for a host that is not blocked to close what a signal ends.
const HOST_TIMEOUT: Duration = Duration::from_millis(500);
/// How often to look whether the host has drained the end.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Exits if the host does not drain what ends a listener within the timeout. Completes when it has
/// drained the end.
pub(crate) async fn exit_if_blocked(state: Weak<PortState>, handle: u64, timeout: Duration) {
    let (mut before, mut since) = ((false, None), Instant::now());
    // A port that no longer exists was closed by its host.
    while let Some(state) = state.upgrade().filter(|state| state.queue.is_of_this_process()) {
        let has_ended = state.tables.lock().listeners.get(handle).is_none();
        let now = (has_ended, state.queue.end_of(handle));
        match now {
            _ if now != before => (before, since) = (now, Instant::now()),
            (_, Some(_)) if since.elapsed() >= timeout => exit_blocked(),
            // The end is queued a moment after the listener has left the table.
            (true, None) => return,
            _ => {}
        }
        drop(state);
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
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
///
/// The host gets the first signal a moment later, and restores the default action when the listener
/// has closed. If this closed it at once, the signal could then have its default action.
pub(crate) fn end_by_signals(state: &Arc<PortState>, handle: u64) -> Result<(), BridgeError> {
    let listener = match state.tables.lock().listeners.get(handle) {
        Some(OpenState::Open(thing)) => Arc::clone(thing),
        // The listener has already ended.
        _ => return Ok(()),
    };
    let state = Arc::downgrade(state);
    let task = |mut signals: EndingSignals| async move {
        tokio::select! {
            _ = signals.next() => {}
            () = listener.closed() => return,
        }
        let deadline = listener.drain_time();
        tokio::select! {
            status = signals.next() => exit(status),
            () = listener.closed() => {}
            () = tokio::time::sleep(HOST_TIMEOUT) => {}
        }
        let deadline = deadline.saturating_sub(HOST_TIMEOUT);
        if let Some(state) = state.upgrade() {
            close_one(&state, handle, deadline);
        }
        tokio::select! {
            status = signals.next() => exit(status),
            () = exit_if_blocked_after(deadline + CUT_TIMEOUT, state.clone(), handle) => {}
        }
    };
    EndingSignals::take(task)
        .map_err(|error| BridgeError::new(ErrorKind::Internal, format!("could not install signal handlers: {error}")))
}

async fn exit_if_blocked_after(time: Duration, state: Weak<PortState>, handle: u64) {
    tokio::time::sleep(time).await;
    exit_if_blocked(state, handle, CHECK_INTERVAL).await;
}

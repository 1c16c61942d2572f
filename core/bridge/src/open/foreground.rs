//! Exits a foreground program even if a handler blocks its host.

use crate::{PortState, process::stderr::write_stderr};
use std::{
    process,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use trunkline::bridge_support::BLOCKED_TIMEOUT;

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
pub(crate) fn is_blocked(state: &Weak<PortState>, handle: u64) -> bool {
    state.upgrade().is_some_and(|state| state.queue.is_of_this_process() && state.queue.holds_end_of(handle))
}

pub(crate) fn exit_blocked() -> ! {
    // The host no longer reads its log.
    write_stderr("trunkline: exiting while a handler is still blocking: its server has stopped\n");
    exit(1)
}

pub(crate) fn exit(status: i32) -> ! {
    let _ = thread::Builder::new().spawn(|| {
        thread::sleep(EXIT_TIMEOUT);
        process::abort();
    });
    process::exit(status)
}

//! The end of a program that serves in the foreground, though a handler blocks its host.

use super::{
    entries::OpenState,
    error::{BridgeError, ErrorKind},
    opening,
    state::PortState,
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

/// Time for the functions that the process runs at its exit, which the blocked handler may hold up.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Exits if the host does not take the end of a listener in time.
pub(super) fn exit_if_blocked(state: &Arc<PortState>, handle: u64) {
    let state = Arc::downgrade(state);
    // If there is no thread for it, the process ends when the handler returns.
    let _ = thread::Builder::new().name("trunkline-exit".into()).spawn(move || {
        thread::sleep(BLOCKED_TIMEOUT);
        if is_blocked(&state, handle) {
            exit_blocked();
        }
    });
}

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
    let process = state.process()?;
    let state = Arc::downgrade(state);
    let task = |mut signals: EndingSignals| async move {
        tokio::select! {
            _ = signals.next() => {}
            () = listener.ended() => return,
        }
        let deadline = listener.drain_deadline();
        if let Some(state) = state.upgrade() {
            process.handle().spawn(opening::end::<Arc<Listener>>(state, handle, deadline));
        }
        drop(process);
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

/// Returns whether the host has not taken the end. A port that is gone was closed by its host.
fn is_blocked(state: &Weak<PortState>, handle: u64) -> bool {
    state.upgrade().is_some_and(|state| state.queue.is_of_this_process() && state.queue.holds_end_of(handle))
}

fn exit_blocked() -> ! {
    // Not to the log of the host, which takes nothing any more.
    eprintln!("trunkline: the process exits though a handler still blocks it: its server has ended");
    exit(1)
}

fn exit(status: i32) -> ! {
    let _ = thread::Builder::new().spawn(|| {
        thread::sleep(EXIT_TIMEOUT);
        process::abort();
    });
    process::exit(status)
}

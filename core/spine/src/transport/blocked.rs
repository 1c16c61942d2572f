//! Lets a program exit even if handlers block their threads.

use crate::server::typed::busy_threads::{BusyThreads, HANDLER_POLLS};
use std::{process, thread, time::Duration};

/// Time for a blocked handler to return after everything else has ended. Clients wait a few seconds
/// before they kill the process, of which draining calls has used up one and a half.
pub const BLOCKED_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for cancelled work to end after a deadline.
pub const CUT_TIMEOUT: Duration = Duration::from_millis(500);

/// Exits if the handlers that currently block threads still do so after a timeout.
pub(super) fn exit_if_blocked() {
    let busy = HANDLER_POLLS.watch();
    if !busy.are_held() {
        return;
    }
    // If no thread can be started, the process exits later.
    let _ = thread::Builder::new().name("trunkline-exit".into()).spawn(move || {
        thread::sleep(BLOCKED_TIMEOUT);
        exit_if_held(&busy);
    });
}

/// Exits if the handlers that currently block threads still do so after the deadline of their
/// calls.
pub(super) async fn exit_if_held_after(deadline: Duration) {
    let busy = HANDLER_POLLS.watch();
    tokio::time::sleep(deadline + CUT_TIMEOUT).await;
    exit_if_held(&busy);
}

fn exit_if_held(busy: &BusyThreads) {
    if busy.are_held() {
        tracing::error!(target: "trunkline::server::listener", "a handler is blocking its thread: exiting without waiting for it");
        process::exit(1);
    }
}

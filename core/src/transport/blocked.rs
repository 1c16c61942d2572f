//! Handlers that block their threads, which must not keep a program from ending.

use crate::server::typed::busy_threads::BusyThreads;
use std::{process, thread, time::Duration};

/// Time for a blocked handler to return once everything else has ended. Clients wait some seconds
/// before they use force, and the end of calls has taken one and a half.
pub const BLOCKED_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for the end of what was cancelled at a deadline.
pub const CUT_TIMEOUT: Duration = Duration::from_millis(500);

/// Exits if the handlers that hold threads now still do in a while.
pub(super) fn exit_if_blocked() {
    let busy = BusyThreads::now();
    if !busy.are_held() {
        return;
    }
    // If there is no thread for it, the process ends later.
    let _ = thread::Builder::new().name("trunkline-exit".into()).spawn(move || {
        thread::sleep(BLOCKED_TIMEOUT);
        exit_if_held(&busy);
    });
}

/// Exits if the handlers that hold threads now still do when their calls have had their time.
pub(super) async fn exit_if_held_after(deadline: Duration) {
    let busy = BusyThreads::now();
    tokio::time::sleep(deadline + CUT_TIMEOUT).await;
    exit_if_held(&busy);
}

fn exit_if_held(busy: &BusyThreads) {
    if busy.are_held() {
        tracing::error!(target: "trunkline::server::listener", "a handler blocks its thread: the process exits without it");
        process::exit(1);
    }
}

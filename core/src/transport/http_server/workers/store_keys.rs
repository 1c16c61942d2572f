//! The keys of a store that the sessions of the legacy era use (docs/deployment.md), and the bounds
//! of the logs that processes read.

use std::time::Duration;

/// Bounds of the logs of messages.
const MAX_MESSAGES: usize = 10_000;
const KEEP_MESSAGES: Duration = Duration::from_secs(600);
/// Bounds of [`NOTIFICATIONS`]. A client that returns later is notified that everything changed.
const MAX_NOTIFICATIONS: usize = 10_000;
const KEEP_NOTIFICATIONS: Duration = Duration::from_secs(3600);

/// The log that every process reads: changes of the server, and those of sessions that decide who
/// is told of them, in one order for all.
pub(super) const NOTIFICATIONS: &str = "v1/workers";

/// The record of a session.
pub(super) fn session(id: &str) -> String {
    format!("v1/session/{id}")
}

/// The place up to which a client has read the stream of its session.
pub(super) fn read_up_to(id: &str) -> String {
    format!("v1/session/{id}/read")
}

/// The log of the events of a session that belong to no request.
pub(super) fn events(session: &str) -> String {
    format!("v1/session/{session}/events")
}

/// The log of everything else that every process reads: clients come and go, cancel, and have new
/// events. Nobody comes back for its entries.
pub(super) const MESSAGES: &str = "v1/workers/messages";

/// The log of the events of a call.
pub(super) fn stream(session: &str, number: u64) -> String {
    format!("v1/session/{session}/stream/{number}")
}

/// The sign of life of a process.
pub(super) fn worker(number: u64) -> String {
    format!("v1/worker/{number}")
}

/// The log of messages for one process.
pub(super) fn messages(number: u64) -> String {
    format!("v1/worker/{number}/messages")
}

/// The most entries of a log of all processes, and the time for which they are kept.
pub(super) fn bounds(log: &str) -> (usize, Duration) {
    if log == NOTIFICATIONS { (MAX_NOTIFICATIONS, KEEP_NOTIFICATIONS) } else { (MAX_MESSAGES, KEEP_MESSAGES) }
}

//! The store keys of legacy-era sessions (docs/deployment.md), and how long messages are kept.

use std::time::Duration;

/// How long the messages of the other shared logs are kept.
const MESSAGE_RETENTION: Duration = Duration::from_secs(600);
/// How long [`NOTIFICATIONS`] are kept. A client that returns later is notified that everything
/// changed.
const NOTIFICATION_RETENTION: Duration = Duration::from_secs(3600);

/// The log that every process reads: changes of the server, and changes of sessions that affect who
/// is notified of them, in one global order.
pub(super) const NOTIFICATIONS: &str = "v1/workers";

/// The record of a session.
pub(super) fn session(id: &str) -> String {
    format!("v1/session/{id}")
}

/// How far a client has read the stream of its session.
pub(super) fn read_up_to(id: &str) -> String {
    format!("v1/session/{id}/read")
}

/// The log of a session's events that are unrelated to a request.
pub(super) fn events(session: &str) -> String {
    format!("v1/session/{session}/events")
}

/// The log of all other messages that every process reads, such as cancellations and announcements
/// of new events. No client resumes from it.
pub(super) const MESSAGES: &str = "v1/workers/messages";

/// The log of the events of a call.
pub(super) fn stream(session: &str, number: u64) -> String {
    format!("v1/session/{session}/stream/{number}")
}

/// The heartbeat of a process.
pub(super) fn worker(number: u64) -> String {
    format!("v1/worker/{number}")
}

/// The log of messages for one process.
pub(super) fn messages(number: u64) -> String {
    format!("v1/worker/{number}/messages")
}

/// How long the messages of a shared log are kept.
pub(super) fn keep_for(log: &str) -> Duration {
    if log == NOTIFICATIONS { NOTIFICATION_RETENTION } else { MESSAGE_RETENTION }
}

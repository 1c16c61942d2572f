//! Lets several processes serve one server behind a load balancer without sticky sessions, through
//! a store.
//!
//! Any process can continue any session, because its record is in the store (`session_records.rs`).
//! All processes read one log of changes (`worker_notification.rs`). The stream of messages
//! unrelated to a request is read from that log and from a log per session (`unrelated.rs`), so
//! that any process can resume it after its last event, and no session evicts the events of others.
//! A process wakes only the streams that a notification concerns (`recent_notifications.rs`).

mod outbox;
mod process;
mod recent_notifications;
mod routing;
mod session_logs;
mod session_records;
mod store_keys;
mod stream_resumption;
mod unrelated;
mod worker_notification;

pub(super) use process::{ServedSessions, Workers};
pub(super) use session_logs::SessionLogs;
pub(super) use session_records::SharedSession;
pub(super) use unrelated::StreamPosition;

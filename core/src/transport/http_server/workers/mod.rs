//! The processes that serve one server behind a load balancer without stickiness, by a store.
//!
//! Each process can go on with each session: its record is in the store (`sessions.rs`). All
//! processes read one log, by which they tell each other of changes (`worker_notification.rs`). The
//! stream of a session's messages without a request is read from it and from a log of the session
//! (`unrelated.rs`), so that it goes on at any process from the place of its last event, and no
//! session pushes out the events of others. A process wakes the streams that a notification is for
//! (`recent_notifications.rs`).

mod outbox;
mod process;
mod recent_notifications;
mod routing;
mod sessions;
mod store_keys;
mod stream_position;
mod streams;
mod unrelated;
mod worker_notification;

pub(super) use process::{ServedSessions, Workers};
pub(super) use sessions::SharedSession;
pub(super) use stream_position::StreamPosition;

//! The processes that serve one server behind a load balancer without stickiness, by a store.
//!
//! Each process can go on with each session: its record is in the store (`sessions.rs`). All
//! processes read one log, by which they tell each other of changes (`notice.rs`). The stream of a
//! session's messages without a request is read from it and from a log of the session
//! (`unrelated.rs`), so that it goes on at any process from the place of its last event, and no
//! session pushes out the events of others. A process wakes the streams that a notice is for
//! (`board.rs`).

mod board;
mod keys;
mod notice;
mod outbox;
mod place;
mod process;
mod routing;
mod sessions;
mod streams;
mod unrelated;

pub(super) use place::StreamPlace;
pub(super) use process::{ServedSessions, Workers};
pub(super) use sessions::SharedSession;

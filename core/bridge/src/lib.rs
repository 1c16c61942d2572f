//! The one waist that every binding uses: event queue, bell, commands. The contract is `docs/bridge.md`.

#![forbid(unsafe_code)]
// The bridge runs the one runtime of the process.
#![allow(clippy::disallowed_types)]

mod auth;
mod config;
mod description;
mod entries;
mod error;
mod event;
mod host_reads;
mod http;
mod log;
mod log_scope;
pub mod message;
mod notifications;
mod opening;
mod outcomes;
mod port;
mod process;
mod queue;
mod register;
mod requests;
pub mod surface;
mod table;

pub use error::{BridgeError, ErrorKind};
pub use event::{Event, EventKind, Lane, Shape};
pub use port::{Fetched, Port, Reply};

/// Wakes the host when the queue turns from empty to pending. Must not block and must not call into the port.
pub trait Bell: Send + Sync + 'static {
    /// Wake the host.
    fn ring(&self);
}

//! The one waist that every binding uses: event queue, bell, commands. The contract is
//! `docs/bridge.md`.

#![forbid(unsafe_code)]
// The bridge runs the one runtime of the process.
#![allow(clippy::disallowed_types)]

mod auth;
mod backlog;
mod body;
mod calls;
mod causes;
mod channel;
mod client_auth;
mod closing;
mod config;
mod connection;
mod connectors;
mod credit;
mod description;
mod entries;
mod error;
mod event;
mod exchanges;
mod foreground;
mod functions;
mod given;
mod groups;
mod host_function;
mod host_reads;
mod host_reply;
mod host_store;
mod log;
mod log_scope;
pub mod message;
#[cfg(all(test, feature = "loom"))]
mod models;
mod notifications;
mod nulls;
mod observed;
mod open_state;
mod opening;
mod option_names;
mod outcomes;
mod port;
mod ports;
mod process;
mod queue;
mod register;
mod replies;
mod requests;
mod server_requests;
mod signals;
mod skills;
mod slot;
mod state;
mod stderr;
mod streams;
pub mod surface;
mod sync;
mod table;
mod task_progress;
mod telemetry;
mod verifications;

pub use body::{Body, LogRecord, ResponseHead};
pub use config::Given;
pub use error::{BridgeError, ErrorKind};
pub use event::{Bell, Event, EventKind, Lane, Shape};
pub use log::log_error;
pub use option_names::OptionNames;
pub use port::Port;
pub use slot::Fetched;
pub use stderr::write_stderr;
pub use trunkline::protocol::schema::{Alternatives, Schema};

//! The one waist that every binding uses: event queue, bell, commands. The contract is
//! `docs/bridge.md`.

#![forbid(unsafe_code)]
// The bridge runs the one runtime of the process.
#![allow(clippy::disallowed_types)]

mod calls;
mod description;
mod error;
mod events;
mod host;
mod host_json;
mod http {
    //! Requests that a web framework passes to a mounted listener.

    pub(crate) mod credit;
    pub(crate) mod exchanges;
}
#[cfg(all(test, feature = "loom"))]
mod loom_tests;
pub mod message;
mod open;
mod option_translation;
mod port;
mod process {
    //! Resources that all ports of a process share: the runtime, the log and standard error.

    pub(crate) mod log_forwarding;
    pub(crate) mod log_scope;
    pub(crate) mod shared_runtime;
    pub(crate) mod stderr_writer;
    pub(crate) mod sync_primitives;
}
mod register;
mod requests;
mod state;
pub mod surface;
mod telemetry;

pub use error::{BridgeError, ErrorKind};
pub use events::{
    Bell, Event, EventKind, Lane, Shape,
    body::{Body, LogRecord, ResponseHead},
    slot::Fetched,
};
pub use host_json::Given;
pub use option_translation::OptionNames;
pub use port::Port;
pub use process::{log_forwarding::log_error, stderr_writer::write_stderr};
pub use trunkline::protocol::input::form_schema;
pub use trunkline::protocol::known_names::nearest;
pub use trunkline::protocol::schema::{Alternatives, Schema};
pub use trunkline::protocol::surrogates::mended;

use state::PortState;

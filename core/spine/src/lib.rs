//! The spine of Trunkline: servers, clients, authorization, the store and the transports of the
//! Model Context Protocol.
//!
//! Use the crate [`trunkline`], which re-exports all of it by feature; the stability is that of its
//! version. [`protocol`] is re-exported from the pure crate `trunkline-proto`. [`server`] and
//! [`client`] are async over traits, and [`transport`] drives them with tokio.
//!
//! [`trunkline`]: https://docs.rs/trunkline

#![forbid(unsafe_code)]
// `eprintln!` panics where nothing reads standard error.
#![warn(clippy::print_stderr)]
// docs.rs shows the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Only `transport` and tests may use what clippy.toml disallows.
#![cfg_attr(test, allow(clippy::disallowed_types))]
// Code that only another feature uses is not an error; with all features enabled, it would be.
#![cfg_attr(not(all(feature = "full", feature = "bridge")), allow(dead_code, unused_imports))]

// For what unit tests share with the other tests.
#[cfg(test)]
extern crate self as trunkline;
#[cfg(test)]
extern crate self as trunkline_core;

#[cfg(feature = "auth")]
pub mod auth;
#[cfg(feature = "bridge")]
#[doc(hidden)]
pub mod bridge_support;
mod cause;
#[cfg(feature = "client")]
pub mod client;
pub mod client_auth;
mod composition {
    //! Combines the features of several servers; used by client groups and servers with mounts.

    pub mod names;
    pub mod rewriting;
}
mod connection_state;
#[cfg(all(test, feature = "full"))]
#[path = "../../testing/src/contract.rs"]
mod contract;
#[doc(hidden)]
pub mod extension;
#[cfg(test)]
#[path = "../../tests/it/http/faulty_store.rs"]
mod faulty_store;
mod race;
pub mod runtime;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod skills;
pub mod store;
pub mod telemetry;
#[cfg(feature = "tokio")]
pub mod transport;
mod util;
pub mod wire_log {
    //! Observes every message and HTTP exchange, for debugging, for programs that show them, and
    //! for the check that no message has a field unknown to its revision. Off unless the runtime
    //! has one.
    //!
    //! [`observe`] passes them to the program, [`record_in`] writes them to a file, and so does the
    //! environment variable `TRUNKLINE_WIRE_LOG`, without a change of the program.

    #[cfg(feature = "tokio")]
    pub use crate::transport::observer::{AlreadyConnected, observe, record_in};
    pub use crate::wire_record::*;
}
mod wire_record;

#[cfg(feature = "server")]
pub use schemars;
pub use serde_json;

#[cfg(any(feature = "http-server", feature = "http-client", feature = "auth"))]
use trunkline_proto::http;
pub use trunkline_proto::protocol;
use trunkline_proto::{engine, fast_map};
use util::{backoff, boxed_task, counts, log_text, on_drop, printable, random, sync, timestamp, turns};

#[cfg(feature = "client")]
pub use client::{Client, ClientError, ClientEvents, ClientOptions, ClientTask, RequestOptions, Subscription};
pub use engine::{Limits, RevisionChoice};
pub use printable::{printable, printable_json};
pub use protocol::{Revision, RpcError, model::ContentBlock};
#[cfg(feature = "server")]
pub use server::{
    CallError, Context, Json, Params, Prompt, Resource, ResourceTemplate, Server, ServerBuilder, ServerOptions, State,
    Tool, ToolError,
    typed::result::{Ok, Result},
};
#[cfg(feature = "child-process")]
pub use transport::ChildCommand;
#[cfg(feature = "http-client")]
pub use transport::HttpEndpoint;
#[cfg(feature = "http-server")]
pub use transport::HttpOptions;
#[cfg(any(feature = "stdio", feature = "http-server"))]
pub use transport::Listener;

#[cfg(all(test, feature = "full"))]
mod tests {
    pub(crate) mod driver_contract;
    pub(crate) mod free_port;
    pub(crate) mod kept_log;
}

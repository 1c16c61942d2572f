//! `libtrunkline`: the C interface of the bridge.
//!
//! Exported items have their C names; cbindgen writes them and their comments to
//! `include/trunkline.h`. There are three layers, each of which only uses those below it:
//!
//! - `api/` contains the exported functions, one file per chapter of the header: they convert
//!   arguments, make one call, and convert the outcome. `generated/` contains those that follow
//!   from the declaration of the surface (`cargo xtask generate`), and the result codes.
//! - The modules here contain the objects behind the handles: the port with its threads, servers,
//!   clients, calls, requests.
//! - `edge/` contains what C needs independently of MCP: result codes, strings, user data, panics,
//!   the descriptor for event loops.

#![allow(non_camel_case_types, reason = "the exported types carry their C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header's conventions are the safety contract of every exported function"
)]
#![allow(clippy::too_many_arguments, reason = "C has no default arguments and no closures")]
#![allow(unreachable_pub, reason = "the exported items are public to C, not to Rust")]

mod api;
mod calls;
mod client;
mod context;
mod edge;
mod features;
mod foreground;
mod generated;
mod http_mount;
mod json;
mod json_writer;
mod lifespan;
mod listener;
mod log;
mod open_handle;
mod options;
mod port;
mod requests;
mod scope;
mod server;
mod server_requests;
mod store;
mod telemetry;
mod waiting;

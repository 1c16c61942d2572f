//! `libtrunkline`: the C interface over the bridge.
//!
//! Exported items carry the names that C sees; cbindgen turns them and their comments into
//! `include/trunkline.h`. Three floors, of which each uses only those below it:
//!
//! - `api/` holds the exported functions, one file per chapter of the header: arguments become
//!   values, one call, an outcome. `generated/` holds those that follow from the declaration of the
//!   surface (`cargo xtask generate`), and the result codes.
//! - The modules here hold the objects behind the handles: the port with its threads, servers,
//!   clients, calls, requests.
//! - `edge/` holds what C needs and MCP does not: result codes, text, user data, panics, the
//!   descriptor of event loops.

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

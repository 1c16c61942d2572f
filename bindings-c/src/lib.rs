//! `libtrunkline`: the C interface of the bridge.
//!
//! Exported items have their C names; cbindgen writes them and their comments to
//! `include/trunkline.h`. The modules here contain the objects behind the handles, such as ports,
//! servers, clients and calls, each followed by the exported functions of its chapter: they convert
//! arguments, make one call, and convert the outcome. Below and above them are:
//!
//! - `edge/` contains what C needs independently of MCP: result codes, strings, user data, panics,
//!   the descriptor for event loops.
//! - `generated/` contains the functions that follow from the declaration of the surface
//!   (`cargo xtask generate`), and the result codes.

#![allow(non_camel_case_types, reason = "the exported types carry their C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header's conventions are the safety contract of every exported function"
)]
#![allow(unreachable_pub, reason = "the exported items are public to C, not to Rust")]

mod edge;

mod texts;

mod json;

mod json_writer;

mod port;

mod options;

mod store;

mod server;

mod features;

mod listener;

mod http_mount;

mod calls;

mod context;

mod client;

mod telemetry;

mod plain;

mod foreground;

mod lifespan;

mod log;

mod open_handle;

mod requests;

mod scope;

mod server_requests;

mod waiting;

mod generated;

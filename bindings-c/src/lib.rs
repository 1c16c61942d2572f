//! `libtrunkline`: the C interface over `trunkline_bridge`.
//!
//! Exported items carry the names that C sees; cbindgen turns them and their comments into
//! `include/trunkline.h`. Only `ffi`, `text` and `callback` turn raw pointers into Rust values;
//! everything else is safe code behind them.

#![allow(non_camel_case_types, reason = "the exported types carry their C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the header's conventions are the safety contract of every exported function"
)]
#![allow(clippy::too_many_arguments, reason = "C has no default arguments and no closures")]
#![allow(unreachable_pub, reason = "the exported items are public to C, not to Rust")]

mod alarm;
mod answer;
mod asking;
mod call;
mod callback;
mod client;
mod client_options;
mod due;
mod error;
mod ffi;
mod http;
mod http_options;
mod hub;
mod json;
mod last_error;
mod listener;
mod notice;
mod offers;
mod options;
mod port;
mod registered;
mod request;
mod server;
mod server_options;
mod sigpipe;
mod sleepers;
mod sync;
mod text;
mod work;

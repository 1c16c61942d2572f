//! The pure part of Trunkline: the words of the Model Context Protocol, the conversation, and
//! Streamable HTTP without sockets.
//!
//! Use the crate [`trunkline`], which re-exports [`protocol`] and [`conversation`]; they change as
//! its version says. The modules `engine` and `http` are for that crate alone: any
//! release may change them.
//!
//! Nothing here does input or output, reads a clock or spawns a task: bytes and time are passed in,
//! and messages to send come back as values. The crate depends on no runtime and on no I/O crate.
//!
//! [`trunkline`]: https://docs.rs/trunkline

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Only tests may use what clippy.toml forbids.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod conversation;
mod described;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod http;
#[cfg(test)]
mod processor_time;
pub mod protocol;
mod setters;

/// For the macro `options!`, wherever it is used.
#[doc(hidden)]
pub use pastey;

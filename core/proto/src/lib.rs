//! The pure part of Trunkline: the words of the Model Context Protocol, the conversation, and
//! Streamable HTTP without sockets.
//!
//! **No stability promise.** This crate is published because [`trunkline`] depends on it. Any
//! release may change any item of it. Use the crate `trunkline`, which re-exports the items that
//! programs need.
//!
//! Nothing here does input or output, reads a clock or spawns a task: bytes and time are passed in,
//! and messages to send come back as values. The crate depends on no runtime and on no I/O crate.
//!
//! [`trunkline`]: https://docs.rs/trunkline

#![forbid(unsafe_code)]
// Only tests may use what clippy.toml forbids.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod described;
pub mod engine;
pub mod http;
pub mod protocol;
mod setters;

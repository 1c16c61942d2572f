//! The I/O-free part of Trunkline: the definitions of the Model Context Protocol, conversations,
//! and Streamable HTTP without sockets.
//!
//! Use the crate [`trunkline`], which re-exports [`protocol`] and [`conversation`]; their stability
//! is that of its version. The modules `engine` and `http` are internal to that crate: any release
//! may change them.
//!
//! Nothing here does I/O, reads a clock or spawns a task: bytes and times are passed in, and
//! messages to send are returned as values. The crate depends on no runtime and no I/O crate.
//!
//! [`trunkline`]: https://docs.rs/trunkline

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Only tests may use the items that clippy.toml disallows.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod conversation;
mod described;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod fast_map;
#[cfg(feature = "http")]
#[doc(hidden)]
pub mod http;
pub mod protocol;
mod setters;

/// Used by the macro `options!`, wherever it is expanded.
#[doc(hidden)]
pub use pastey;

#[cfg(test)]
mod tests {
    pub(crate) mod processor_time;
}

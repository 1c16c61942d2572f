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

pub mod conversation {
    //! The items of the hidden module `engine` that the crate `trunkline` re-exports.

    pub use crate::engine::{Limits, NegotiationError, RequestInfo, RevisionChoice};
}

mod described;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod fast_map {
    //! Maps with a faster hash than the standard library's, for what each call looks up.

    use indexmap::IndexMap;
    use std::collections::HashMap;

    /// A map for keys that are ours, or that can only slow down the peer that chose them: its hash
    /// is seeded at random, but is not cryptographic.
    pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

    /// A [`FastMap`] in the order of insertion.
    pub type FastIndexMap<K, V> = IndexMap<K, V, foldhash::fast::RandomState>;
}
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

//! Many servers as one: groups of clients, and servers that offer the features of others.
//!
//! Use the crate [`trunkline`](https://docs.rs/trunkline), which re-exports it.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod group;
#[cfg(feature = "server")]
mod proxy;
pub mod surface;

pub use group::ClientGroup;
#[cfg(feature = "server")]
pub use proxy::{ProxyDefinition, ProxyOptions, Upstream};
pub use surface::{Surface, SurfaceChange};

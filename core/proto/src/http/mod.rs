//! Streamable HTTP without I/O: headers, guards, classification, statuses, sessions and event
//! streams.

#[cfg(feature = "http")]
pub mod classify;
#[cfg(feature = "http")]
pub mod content;
#[cfg(feature = "http")]
pub mod event_stream;
#[cfg(feature = "http")]
pub mod guard;
#[cfg(feature = "http")]
pub mod headers;
#[cfg(feature = "http")]
pub mod mirror;
#[cfg(feature = "http")]
pub mod rejection;
#[cfg(feature = "http")]
pub mod replay;
#[cfg(feature = "http")]
pub mod routes;
pub mod scope;
#[cfg(feature = "http")]
pub mod sessions;
#[cfg(feature = "http")]
pub mod sse;

//! Streamable HTTP without I/O: headers, guards, classification, statuses, sessions and event
//! streams.

pub mod classify;
pub mod content;
pub mod event_stream;
pub mod guard;
pub mod headers;
pub mod mirror;
pub mod rejection;
pub mod replay;
pub mod routes;
pub mod sessions;
pub mod sse;

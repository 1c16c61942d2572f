//! Streamable HTTP without sockets: headers, guards, classification, statuses, sessions, event streams. Pure.

pub mod classify;
pub mod content;
pub mod event_stream;
pub mod guard;
pub mod headers;
pub mod mirror;
pub mod rejection;
pub mod replay;
pub mod routes;
pub mod scope;
pub mod sessions;
pub mod sse;

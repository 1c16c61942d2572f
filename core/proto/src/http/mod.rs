//! Streamable HTTP without sockets: headers, guards, classification, statuses, sessions, event streams. Pure.

pub(crate) mod classify;
pub(crate) mod content;
pub(crate) mod event_stream;
pub(crate) mod guard;
pub(crate) mod headers;
pub(crate) mod mirror;
pub(crate) mod rejection;
pub(crate) mod replay;
pub(crate) mod routes;
pub(crate) mod scope;
pub(crate) mod sessions;
pub(crate) mod sse;

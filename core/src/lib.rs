//! The Model Context Protocol: servers and clients, every revision, one core.

pub mod bridge;
pub mod client;
pub mod engine;
mod http;
pub mod protocol;
pub mod runtime;
pub mod server;
pub mod transport;
pub mod wire_log;

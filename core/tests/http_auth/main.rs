//! Authorization over HTTP: access tokens at servers, and the way of clients to them.

#![allow(clippy::disallowed_types)]

mod client;
mod server;

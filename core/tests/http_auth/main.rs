//! Authorization over HTTP: access tokens at servers, and how clients get them.

#![allow(clippy::disallowed_types)]

mod client;
mod server;

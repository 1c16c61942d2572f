//! Authorization over HTTP: access tokens at servers, and how clients get them.

mod client;
mod server;
mod static_tokens;

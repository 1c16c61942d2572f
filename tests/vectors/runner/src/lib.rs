//! Plays wire vectors of the Model Context Protocol (tests/vectors) to a server, and checks every
//! message that the server sends against the schemas of its revision (tests/wire).
//!
//! For clients, the server is scripted: [`ClientVector`] contains its responses and what the client
//! must send.
//!
//! The checks are assertions: a failing vector panics, and [`play_all`] turns that into
//! [`Outcome::Failed`]. The program `trunkline-vectors` plays vectors to any server; tests in Rust
//! use this library.

#![forbid(unsafe_code)]

mod client;
mod http;
mod play;
mod scripted;
mod server;
mod share;
mod vector;
pub mod wire;

pub use client::{ClientVector, load_client, play_to_client, serve};
pub use http::Http;
pub use play::{Outcome, Played, play_all};
pub use server::{CommandServer, Fixture, Server, UrlServer};
pub use share::StdioShare;
pub use vector::{Transport, Vector, load};
pub use wire::Wire;

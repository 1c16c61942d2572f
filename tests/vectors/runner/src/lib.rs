//! Plays wire vectors of the Model Context Protocol (tests/vectors) to a server, and checks every message that the server sends
//! against the schemas of its revision (tests/wire).
//!
//! The checks are assertions: a vector that fails panics inside, and [`play_all`] makes an [`Outcome::Failed`] of it. The program
//! `trunkline-vectors` plays vectors to any server; tests in Rust use this library.

mod http;
mod pattern;
mod play;
mod server;
mod vector;
pub mod wire;

pub use http::Http;
pub use play::{Outcome, Played, play_all};
pub use server::{CommandServer, Fixture, Server, UrlServer};
pub use vector::{Transport, Vector, load};
pub use wire::Wire;

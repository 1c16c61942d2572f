//! The wire message checker, as a library and as a command.

mod accepts;
mod catches;
mod closed_world;
mod command;
mod common;
mod extensions;

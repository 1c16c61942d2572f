//! Messages over pipes, one per line: a server on standard input and output, and the parts that it
//! shares with the client of a child process.

mod busy_poll;
mod direct;
mod handoff;
mod line_reader;
mod lines;
mod server;
mod standard_streams;
mod writer;

pub use handoff::ReadHandoff;

pub(super) use busy_poll::RoundTripTracker;
pub(super) use direct::Direct;
#[cfg(unix)]
pub(super) use handoff::read_to_end;
#[cfg(unix)]
pub(super) use line_reader::LineReader;
pub(super) use lines::{Line, LineCutter, MAX_QUEUED};
pub(super) use server::PipeServer;
pub(super) use standard_streams::take_stdio;

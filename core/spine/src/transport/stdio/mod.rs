//! Messages over pipes, one per line: a server on standard input and output, and the parts that it
//! shares with the client of a child process.

mod busy_poll;
mod direct;
mod line_reader;
mod lines;
#[cfg(feature = "stdio")]
mod pipe_writer;
mod read_handoff;
#[cfg(feature = "stdio")]
mod runtime_reads;
mod standard_streams;
#[cfg(feature = "stdio")]
mod stdio_server;

pub use read_handoff::ReadHandoff;

pub(super) use busy_poll::RoundTripTracker;
#[cfg(unix)]
pub(super) use line_reader::LineReader;
pub(super) use lines::{Line, LineCutter};
#[cfg(unix)]
pub(super) use read_handoff::read_to_end;
pub(super) use standard_streams::take_stdio;
pub use standard_streams::{hold_stdio, open_closed_streams};
#[cfg(feature = "stdio")]
pub(super) use stdio_server::PipeServer;

//! Messages over pipes, one per line: a server on standard input and output, and the parts that it
//! shares with the client of a child process.

#[cfg(any(feature = "stdio", feature = "child-process"))]
mod busy_poll;
#[cfg(feature = "stdio")]
mod direct;
#[cfg(any(feature = "stdio", feature = "child-process"))]
mod handoff;
#[cfg(any(feature = "stdio", feature = "child-process"))]
mod line_reader;
mod lines;
#[cfg(feature = "stdio")]
mod standard_streams;
#[cfg(feature = "stdio")]
mod stdio_server;
#[cfg(feature = "stdio")]
mod writer;

#[cfg(any(feature = "stdio", feature = "child-process"))]
pub use handoff::ReadHandoff;

#[cfg(any(feature = "stdio", feature = "child-process"))]
pub(super) use busy_poll::RoundTripTracker;
#[cfg(feature = "stdio")]
pub(super) use direct::Direct;
#[cfg(all(unix, any(feature = "stdio", feature = "child-process")))]
pub(super) use handoff::read_to_end;
#[cfg(all(unix, any(feature = "stdio", feature = "child-process")))]
pub(super) use line_reader::LineReader;
pub(super) use lines::{Line, LineCutter, MAX_QUEUED};
#[cfg(feature = "stdio")]
pub use standard_streams::hold_stdio;
#[cfg(feature = "stdio")]
pub(super) use standard_streams::take_stdio;
#[cfg(feature = "stdio")]
pub(super) use stdio_server::PipeServer;

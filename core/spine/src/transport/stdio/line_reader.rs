//! A blocking reader of the lines of a pipe.

use super::{
    busy_poll::RoundTripTracker,
    lines::{Line, LineCutter},
};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::{
    fs::File,
    io::{self, Read},
    ops::ControlFlow,
    sync::Arc,
};

/// A pipe, the bytes that are not a complete line yet, and the function that handles lines.
pub(in crate::transport) struct LineReader {
    file: File,
    is_watchable: bool,
    /// True if the capacity of the pipe was set for large messages.
    #[cfg(unix)]
    is_enlarged: bool,
    chunk: Vec<u8>,
    cutter: LineCutter,
    handle_line: Box<HandleLine>,
    round_trips: Arc<RoundTripTracker>,
    ended: bool,
}

/// Handles a line. The flag is true if more lines have already been read.
type HandleLine = dyn FnMut(Line, bool) -> ControlFlow<()> + Send;

/// The outcome of a single read.
pub(super) enum ReadOutcome {
    /// One message, which completes a round trip.
    RoundTrip,
    /// This many complete lines.
    Lines(usize),
    /// As many bytes as fit, so there are probably more.
    Full,
    /// The input has ended, or the handler wants no more lines.
    End,
}

/// Returns whether an event loop can watch the file. Loops watch pipes and sockets, but not files.
/// A terminal is excluded because other processes share it.
#[cfg(unix)]
fn is_watchable(file: &File) -> bool {
    use std::os::unix::fs::FileTypeExt;
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo() || metadata.file_type().is_socket())
}

/// Returns `false`: event loops of other systems do not watch pipes.
#[cfg(not(unix))]
fn is_watchable(_: &File) -> bool {
    false
}

impl LineReader {
    /// Creates a reader of lines of at most `limit` bytes. The writer of the same connection
    /// reports its messages to `round_trips`.
    pub(in crate::transport) fn new(
        file: File,
        limit: usize,
        round_trips: Arc<RoundTripTracker>,
        handle_line: impl FnMut(Line, bool) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        Self {
            is_watchable: is_watchable(&file),
            #[cfg(unix)]
            is_enlarged: false,
            file,
            chunk: vec![0; 64 * 1024],
            cutter: LineCutter::new(limit),
            handle_line: Box::new(handle_line),
            round_trips,
            ended: false,
        }
    }

    /// The file, if an event loop can watch it.
    pub(super) fn watchable(&self) -> Option<&File> {
        self.is_watchable.then_some(&self.file)
    }

    /// Polls for the next message as long as that is worthwhile. Returns whether a read would not
    /// block.
    pub(super) fn busy_poll(&self) -> bool {
        self.round_trips.busy_poll(|| self.is_ready())
    }

    /// Returns whether a read would not block.
    #[cfg(unix)]
    pub(super) fn is_ready(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    #[cfg(not(unix))]
    pub(super) fn is_ready(&self) -> bool {
        false
    }

    /// Reads once, and handles the lines that are then complete.
    pub(super) fn read_once(&mut self) -> ReadOutcome {
        if self.ended {
            return ReadOutcome::End;
        }
        let length = match self.file.read(&mut self.chunk) {
            Ok(0) => return self.end(),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return ReadOutcome::Lines(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // An event loop that watched the file made it non-blocking. If undoing that fails,
                // the next read fails too and reports the reason.
                #[cfg(unix)]
                let _ = rustix::io::ioctl_fionbio(&self.file, false);
                return ReadOutcome::Lines(0);
            }
            Err(error) => {
                tracing::debug!(target: "trunkline::server::stdio", %error, "the pipe broke");
                return self.end();
            }
        };
        self.cutter.extend(&self.chunk[..length]);
        let is_full = length == self.chunk.len();
        #[cfg(unix)]
        if is_full && !std::mem::replace(&mut self.is_enlarged, true) {
            enlarge(&self.file);
        }
        let Some(mut line) = self.cutter.next_line() else {
            return if is_full { ReadOutcome::Full } else { ReadOutcome::Lines(0) };
        };
        let mut next = self.cutter.next_line();
        // Recorded before the line is handled, because its answer starts the next round trip.
        let is_round_trip = self.round_trips.received(!is_full && next.is_none());
        let mut lines = 1;
        loop {
            if (self.handle_line)(line, next.is_some()).is_break() {
                self.ended = true;
                return ReadOutcome::End;
            }
            let Some(following) = next else { break };
            (line, next) = (following, self.cutter.next_line());
            lines += 1;
        }
        match is_full {
            true => ReadOutcome::Full,
            false if is_round_trip => ReadOutcome::RoundTrip,
            false => ReadOutcome::Lines(lines),
        }
    }

    fn end(&mut self) -> ReadOutcome {
        self.ended = true;
        if let Some(text) = self.cutter.rest() {
            // Nothing follows, so it doesn't matter whether the handler wants to stop.
            let _ = (self.handle_line)(Line::Text(text), false);
        }
        ReadOutcome::End
    }
}

/// Enough for large messages. More takes a privilege.
#[cfg(target_os = "linux")]
const PIPE_CAPACITY: usize = 1024 * 1024;

/// Enlarges a pipe: the larger it is, the fewer switches between the two processes. Returns its
/// capacity; 0 if the system has none to tell, or for other files.
#[cfg(target_os = "linux")]
pub(super) fn enlarge(pipe: impl AsFd) -> usize {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    // Refused to users who have many large pipes.
    fcntl_setpipe_size(&pipe, PIPE_CAPACITY).or_else(|_| fcntl_getpipe_size(&pipe)).unwrap_or(0)
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn enlarge(_: impl AsFd) -> usize {
    0
}

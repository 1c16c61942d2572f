//! Reading a pipe line by line, on a thread.

use super::{
    lending::Lender,
    lines::{Line, LineCutter},
    turns::Turns,
};
use std::{
    fs::File,
    io::{self, Read},
    ops::ControlFlow,
    sync::Arc,
};

/// What is read, and what becomes of it.
pub(super) struct Intake {
    reader: File,
    is_watchable: bool,
    chunk: Vec<u8>,
    cutter: LineCutter,
    serve: Box<Serve>,
    turns: Arc<Turns>,
    ended: bool,
}

/// Takes a line, and whether more lines are there already.
pub(super) type Serve = dyn FnMut(Line, bool) -> ControlFlow<()> + Send;

/// What one read brought.
pub(super) enum Got {
    /// One message, in turn.
    Turn,
    Lines(usize),
    /// Part of something big.
    Much,
    End,
}

/// Whether an event loop can watch it: pipes and sockets, not files, and a terminal belongs to others too.
#[cfg(unix)]
fn is_watchable(file: &File) -> bool {
    use std::os::unix::fs::FileTypeExt;
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo() || metadata.file_type().is_socket())
}

/// Loops here do not watch pipes.
#[cfg(not(unix))]
fn is_watchable(_: &File) -> bool {
    false
}

#[cfg(unix)]
fn block_again(file: &File) {
    let _ = rustix::io::ioctl_fionbio(file, false);
}

#[cfg(not(unix))]
fn block_again(_: &File) {}

impl Intake {
    /// `turns`: whoever writes says there when it is the peer's turn.
    pub(super) fn new(
        reader: File,
        limit: usize,
        turns: Arc<Turns>,
        serve: impl FnMut(Line, bool) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        Self {
            is_watchable: is_watchable(&reader),
            reader,
            chunk: vec![0; 64 * 1024],
            cutter: LineCutter::new(limit),
            serve: Box::new(serve),
            turns,
            ended: false,
        }
    }

    /// Reads until the input ends, or `serve` has enough.
    pub(super) fn run(mut self, lender: Option<&Lender>) {
        let mut calm = 0;
        loop {
            // If it is not there then, the read waits for it asleep.
            let _ = self.linger();
            calm = match self.step() {
                Got::Turn => calm + 1,
                Got::Lines(_) | Got::Much => 0,
                Got::End => return,
            };
            if let Some(lender) = lender
                && calm >= lender.turns()
            {
                self = lender.lend(self);
                calm = 0;
            }
        }
    }

    /// What an event loop can watch.
    pub(super) fn watched(&self) -> Option<&File> {
        self.is_watchable.then_some(&self.reader)
    }

    /// Waits awake for what comes next, if that pays. Whether a read does not block then.
    pub(super) fn linger(&self) -> bool {
        self.turns.linger(|| self.is_ready())
    }

    /// Whether a read does not block.
    #[cfg(unix)]
    pub(super) fn is_ready(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.reader, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    #[cfg(not(unix))]
    pub(super) fn is_ready(&self) -> bool {
        false
    }

    /// Reads once, and serves the lines that are whole then.
    pub(super) fn step(&mut self) -> Got {
        if self.ended {
            return Got::End;
        }
        let length = match self.reader.read(&mut self.chunk) {
            Ok(0) => return self.end(),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Got::Lines(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // A loop that watched it made it so. Should it not change, the next read says why.
                block_again(&self.reader);
                return Got::Lines(0);
            }
            Err(error) => {
                tracing::debug!(target: "trunkline", "the pipe broke: {error}");
                return self.end();
            }
        };
        self.cutter.extend(&self.chunk[..length]);
        let is_whole = length < self.chunk.len();
        let Some(mut line) = self.cutter.next_line() else {
            return if is_whole { Got::Lines(0) } else { Got::Much };
        };
        let mut next = self.cutter.next_line();
        // Before the line is served, for its answer passes the turn again.
        let took_turn = self.turns.take(is_whole && next.is_none());
        let mut lines = 1;
        loop {
            if (self.serve)(line, next.is_some()).is_break() {
                self.ended = true;
                return Got::End;
            }
            let Some(following) = next else { break };
            (line, next) = (following, self.cutter.next_line());
            lines += 1;
        }
        match is_whole {
            true if took_turn => Got::Turn,
            true => Got::Lines(lines),
            false => Got::Much,
        }
    }

    fn end(&mut self) -> Got {
        self.ended = true;
        if let Some(text) = self.cutter.rest() {
            // It was the last one anyway.
            let _ = (self.serve)(Line::Text(text), false);
        }
        Got::End
    }
}

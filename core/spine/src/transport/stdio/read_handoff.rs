//! Host-driven reads: the handoff of a pipe between the thread that reads it and the host's event
//! loop.
//!
//! Passing a message from the reading thread to the host's thread costs more than the rest of a
//! small call if a core has to be woken for it. While messages arrive one by one, the host
//! therefore watches the pipe and reads it itself, and the thread sleeps. The thread takes over
//! again when many messages arrive, because two threads then have a higher throughput than one, and
//! when the host has not read for a while. So reading never stops because the host is busy, blocked
//! or has exited.

use super::line_reader::{LineReader, ReadOutcome};
use crate::sync::{Condvar, Mutex};
use std::{
    fs::File,
    mem,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// Consecutive round trips before the reading is handed to the host.
const ROUND_TRIPS_BEFORE_HANDOFF: u32 = 8;
/// Maximum lines in a single read by the host. More lines end the handoff.
const MAX_LINES_PER_HOST_READ: usize = 4;
/// If the host does not read for this long, the thread takes over again.
const HOST_READ_TIMEOUT: Duration = Duration::from_millis(100);
/// Exponential back-off after unused handoffs, each of which costs `HOST_READ_TIMEOUT`: the maximum
/// number of times that `ROUND_TRIPS_BEFORE_HANDOFF` doubles.
const MAX_DOUBLINGS: u32 = 10;

/// Reads until the input ends, or the line handler accepts no more. With a handoff, the host reads
/// some of the time.
pub(in crate::transport) fn read_to_end(mut reader: LineReader, handoff: Option<&ReadHandoff>) {
    let mut round_trips = 0;
    loop {
        // If nothing has arrived, the read below sleeps until something does.
        let _ = reader.busy_poll();
        round_trips = match reader.read_once() {
            ReadOutcome::RoundTrip => round_trips + 1,
            ReadOutcome::Lines(_) | ReadOutcome::Full => 0,
            ReadOutcome::End => return,
        };
        if let Some(handoff) = handoff
            && round_trips >= handoff.required_round_trips()
        {
            reader = handoff.hand_to_host(reader);
            round_trips = 0;
        }
    }
}

/// The slot where the reading thread leaves its reader for the host, and takes it back.
#[derive(Default)]
pub struct ReadHandoff {
    state: Mutex<HandoffState>,
    returned: Condvar,
    /// Consecutive handoffs in which the host did not read.
    unused: AtomicU32,
    announce: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
enum HandoffState {
    /// The thread is reading.
    #[default]
    WithThread,
    /// The host should read.
    WithHost {
        reader: LineReader,
        /// The host has read since the thread last checked.
        used: bool,
    },
    /// The host is reading right now.
    HostReads,
    /// The host gave the reader back; the thread has not taken it yet.
    Returned(LineReader),
}

impl ReadHandoff {
    /// Enables handoffs. `announce` is called for each, on the reading thread, without a lock.
    pub fn enable(&self, announce: impl Fn() + Send + Sync + 'static) {
        // A connection has one host, so this is called once.
        let _ = self.announce.set(Box::new(announce));
    }

    /// The consecutive round trips that the next handoff requires.
    fn required_round_trips(&self) -> u32 {
        ROUND_TRIPS_BEFORE_HANDOFF << self.unused.load(Ordering::Relaxed)
    }

    /// Hands the reader to the host, and waits until the host returns it or stops reading.
    fn hand_to_host(&self, reader: LineReader) -> LineReader {
        let (Some(announce), Some(_)) = (self.announce.get(), reader.watchable()) else { return reader };
        {
            let mut state = self.state.lock();
            if !matches!(*state, HandoffState::WithThread) {
                // The host still has another pipe of this connection, whose server was restarted.
                return reader;
            }
            *state = HandoffState::WithHost { reader, used: true };
            // Counts as unused until the host reads.
            let unused = self.unused.load(Ordering::Relaxed);
            self.unused.store(MAX_DOUBLINGS.min(unused + 1), Ordering::Relaxed);
        }
        announce();
        let mut state = self.state.lock();
        loop {
            let is_with_host = |state: &mut HandoffState| !matches!(state, HandoffState::Returned(_));
            state = self.returned.wait_while_until(state, Instant::now() + HOST_READ_TIMEOUT, is_with_host);
            *state = match mem::take(&mut *state) {
                HandoffState::WithHost { reader, used: false } | HandoffState::Returned(reader) => return reader,
                HandoffState::WithHost { reader, used: true } => HandoffState::WithHost { reader, used: false },
                other => other,
            };
        }
    }

    /// A new descriptor of the pipe for the host to watch, if the pipe is handed over. If none can
    /// be created, the handoff ends.
    pub fn watch(&self) -> Option<File> {
        let mut read = self.begin_read().ok()?;
        let descriptor = read.reader.as_ref()?.watchable()?.try_clone();
        read.is_over = descriptor.is_err();
        descriptor.ok()
    }

    /// Polls for the next message as long as that is worthwhile. Returns whether
    /// [`Self::read_ready`] would find something.
    pub fn busy_poll(&self) -> bool {
        self.begin_read().is_ok_and(|read| read.reader.as_ref().is_some_and(LineReader::busy_poll))
    }

    /// Reads once on the host's thread, if something is there. Returns whether the pipe is still
    /// handed over.
    pub fn read_ready(&self) -> bool {
        match self.begin_read() {
            Ok(mut read) => {
                self.unused.store(0, Ordering::Relaxed);
                // If the read panics, the thread continues with it.
                read.is_over = true;
                read.is_over = !read.brings_few_lines();
                !read.is_over
            }
            Err(host_reads) => host_reads,
        }
    }

    /// Takes the reader for a read by the host. The error is `true` if another such read is in
    /// progress, so that the pipe is still handed over.
    fn begin_read(&self) -> Result<HostRead<'_>, bool> {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, HandoffState::HostReads) {
            HandoffState::WithHost { reader, .. } => {
                Ok(HostRead { handoff: self, reader: Some(reader), is_over: false })
            }
            other => {
                let host_reads = matches!(other, HandoffState::HostReads);
                *state = other;
                Err(host_reads)
            }
        }
    }
}

/// A read by the host. Dropping it puts the reader back, even during a panic.
struct HostRead<'a> {
    handoff: &'a ReadHandoff,
    reader: Option<LineReader>,
    /// The handoff ends with this read.
    is_over: bool,
}

impl HostRead<'_> {
    fn brings_few_lines(&mut self) -> bool {
        let Some(reader) = &mut self.reader else { return false };
        !reader.is_ready()
            || matches!(reader.read_once(), ReadOutcome::RoundTrip | ReadOutcome::Lines(..=MAX_LINES_PER_HOST_READ))
    }
}

impl Drop for HostRead<'_> {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        *self.handoff.state.lock() =
            if self.is_over { HandoffState::Returned(reader) } else { HandoffState::WithHost { reader, used: true } };
        if self.is_over {
            self.handoff.returned.notify_one();
        }
    }
}

//! The writing side of a server on a pipe: a bounded queue, and the thread that writes it.

use super::{busy_poll::RoundTripTracker, direct::Direct};
use crate::{
    server::{Connection, Outbound, OutgoingMessage},
    sync::{Condvar, Mutex},
    transport::queued::MAX_QUEUED,
};
use bytes::{BufMut, Bytes};
use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicIsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The outgoing messages of a server, and the state of the thread that writes them.
#[derive(Default)]
pub(super) struct PipeWriter {
    queue: Mutex<LineQueue>,
    changed: Condvar,
    direct: Option<Direct>,
    round_trips: Arc<RoundTripTracker>,
    /// Number of pending answers. Only a hint, for the choice between writing at once and writing
    /// many together.
    expected: AtomicIsize,
    /// True if requests have been read that are not served yet. A hint for the same choice.
    more_requests: AtomicBool,
}

#[derive(Default)]
struct LineQueue {
    /// The queued lines.
    text: Vec<u8>,
    /// True while the thread is writing lines that it took from the queue.
    writing: bool,
    /// No more messages are accepted; the writer ends when the queue is empty.
    finished: bool,
    /// A write failed, or the connection was abandoned.
    broken: bool,
    /// The writer has ended.
    written: bool,
}

impl PipeWriter {
    pub(super) fn new(direct: Option<Direct>, round_trips: Arc<RoundTripTracker>) -> Self {
        Self { direct, round_trips, ..Self::default() }
    }

    /// Writes the messages until [`Self::finish`], or until a write fails.
    pub(super) fn run(&self, writer: impl Write) -> io::Result<()> {
        let result = self.write(writer);
        self.queue.lock().written = true;
        self.changed.notify_all();
        result
    }

    fn write(&self, mut writer: impl Write) -> io::Result<()> {
        let mut text = Vec::new();
        loop {
            {
                let nothing = |queue: &mut LineQueue| queue.text.is_empty() && !queue.finished;
                let mut queue = self.changed.wait_while(self.queue.lock(), nothing);
                if queue.text.is_empty() {
                    return Ok(());
                }
                text.clear();
                std::mem::swap(&mut text, &mut queue.text);
                queue.writing = true;
            }
            let written = writer.write_all(&text).and_then(|()| writer.flush());
            let mut queue = self.queue.lock();
            queue.writing = false;
            if let Err(error) = written {
                queue.broken = true;
                queue.text = Vec::new();
                return Err(error);
            }
            drop(queue);
            // Gives back the memory of a huge answer.
            text.shrink_to(1 << 20);
        }
    }

    /// Announces pending answers.
    pub(super) fn expect(&self, answers: usize) {
        self.expected.fetch_add(answers.try_into().unwrap_or(isize::MAX), Ordering::Relaxed);
    }

    /// Records whether more requests have already been read.
    pub(super) fn set_more_requests(&self, more: bool) {
        self.more_requests.store(more, Ordering::Relaxed);
    }

    /// Counts an answer as done. Returns whether it was the last one for now, so that no other
    /// could be written together with it.
    fn is_last(&self) -> bool {
        self.expected.fetch_sub(1, Ordering::Relaxed) <= 1 && !self.more_requests.load(Ordering::Relaxed)
    }

    fn push(&self, message: Bytes, droppable: bool, at_once: bool) {
        let mut queue = self.queue.lock();
        if queue.broken || queue.finished || (droppable && queue.text.len() > MAX_QUEUED) {
            return;
        }
        match &self.direct {
            Some(direct) if at_once && !queue.writing && queue.text.is_empty() => {
                // Nobody else has the message, so this copies nothing.
                let mut line = message.try_into_mut().unwrap_or_else(|shared| shared.as_ref().into());
                line.put_u8(b'\n');
                self.round_trips.sent();
                let written = direct.write(&line);
                if written == line.len() {
                    return;
                }
                queue.text.extend_from_slice(&line[written..]);
            }
            _ => {
                queue.text.extend_from_slice(&message);
                queue.text.push(b'\n');
            }
        }
        self.changed.notify_all();
    }

    /// Ends the output once the queue is written.
    pub(super) fn finish(&self) {
        self.queue.lock().finished = true;
        self.changed.notify_all();
    }

    /// Drops the connection of a client that does not read.
    pub(super) fn give_up(&self) {
        let mut queue = self.queue.lock();
        queue.broken = true;
        queue.text = Vec::new();
    }

    /// Waits until everything is written, for at most `timeout`.
    pub(super) fn wait_until_written(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        drop(self.changed.wait_while_until(self.queue.lock(), deadline, |queue| !queue.written));
    }

    /// Ends the output when every call is answered, or after `timeout`, when the remaining calls
    /// fail.
    pub(super) fn finish_when_idle(&self, connection: &Arc<Connection>, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        connection.end_subscriptions();
        connection.end_input();
        while !connection.is_idle() && !self.queue.lock().broken && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        connection.interrupt();
        self.finish();
    }
}

impl Outbound for PipeWriter {
    fn send(&self, outgoing: OutgoingMessage) {
        match outgoing {
            OutgoingMessage::Response { message, .. } => self.push(message, false, self.is_last()),
            OutgoingMessage::Request(message) => self.push(message, false, true),
            OutgoingMessage::Notification(message) => self.push(message, true, false),
            OutgoingMessage::Abandoned => drop(self.is_last()),
        }
    }

    fn is_congested(&self) -> bool {
        self.queue.lock().text.len() > MAX_QUEUED
    }
}

//! The streams of one session that clients can come back to.

use super::stream::{Reader, Stream};
use crate::{
    http::replay::{EventId, Replay},
    server::Outgoing,
    sync::Mutex,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

/// The events that a session's streams have carried, and the streams that still carry some. Locked
/// after a stream, never before.
pub(super) struct History {
    log: Mutex<Log>,
    retry: Duration,
}

struct Log {
    replay: Replay,
    live: HashMap<u64, Weak<Stream>>,
}

impl History {
    pub(super) fn new(max_events: usize, max_bytes: usize, retry: Duration) -> Arc<Self> {
        let log = Log { replay: Replay::new(max_events, max_bytes), live: HashMap::new() };
        Arc::new(Self { log: Mutex::new(log), retry })
    }

    /// How long a client should wait before it comes back.
    pub(super) fn retry(&self) -> Duration {
        self.retry
    }

    pub(super) fn open(&self, stream: &Arc<Stream>) -> u64 {
        let mut log = self.log.lock();
        let number = log.replay.open();
        log.live.insert(number, Arc::downgrade(stream));
        number
    }

    pub(super) fn position(&self, stream: u64) -> EventId {
        self.log.lock().replay.position(stream)
    }

    /// Keeps a message that was given to a client, or waits for one: its place.
    pub(super) fn keep(&self, stream: u64, outgoing: &Outgoing) -> Option<EventId> {
        let message = outgoing.message()?;
        Some(self.log.lock().replay.keep(stream, message))
    }

    pub(super) fn finish(&self, stream: u64) {
        let mut log = self.log.lock();
        log.live.remove(&stream);
        log.replay.finish(stream);
    }

    pub(super) fn after(&self, last: EventId) -> Option<VecDeque<(EventId, Bytes)>> {
        self.log.lock().replay.after(last)
    }

    /// Reads on where a client stopped (HTTP-38). `None`: the event is of no stream of this
    /// session, or what followed it is not kept any more.
    pub(super) fn resume(&self, last: EventId) -> Option<Reader> {
        // The lock is free again before the stream is locked, or dropped.
        let live = self.log.lock().live.get(&last.stream()).cloned();
        match live.and_then(|stream| stream.upgrade()) {
            Some(stream) => stream.attach_after(last),
            None => self.after(last).map(Reader::of_the_past),
        }
    }
}

//! The streams of one session that clients can come back to.

use super::{
    replay_budget::{KeepsEvents, ReplayBudget},
    response_stream::{Stream, StreamReader},
};
use crate::{
    http::replay::{EventId, Replay},
    protocol::RequestId,
    runtime::BoxedTask,
    server::OutgoingMessage,
    sync::Mutex,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The events that a session's streams have carried, and the streams that still carry some. Locked
/// after a stream, never before.
pub(super) struct History {
    log: Mutex<Log>,
    retry: Duration,
    /// The room that it shares with the other sessions, and its number there.
    budget: (Arc<ReplayBudget>, u64),
    /// The place of its newest event among those of all sessions.
    last_kept: AtomicU64,
    elsewhere: Option<Box<dyn EventLog>>,
}

/// Keeps the events of streams where other processes find them. Never blocks.
///
/// A process that is gone has no verdict on streams of which there is no record: clients learn of
/// one when its record is kept.
pub(super) trait EventLog: Send + Sync {
    /// A number that no stream of the session had, in any process.
    fn next_stream(&self) -> u64;
    /// The stream of requests begins; completes when others find it, or nobody knows when they do.
    fn opened(&self, stream: u64, requests: &[RequestId]) -> BoxedTask<()>;
    /// Keeps an event.
    fn kept(&self, id: EventId, outgoing: &OutgoingMessage);
    /// Nothing follows on a stream.
    fn finished(&self, stream: u64);
}

struct Log {
    replay: Replay,
    live: HashMap<u64, Weak<Stream>>,
}

impl History {
    /// `elsewhere`: where other processes find the same events.
    pub(super) fn new(
        (max_events, max_bytes): (usize, usize),
        retry: Duration,
        budget: &Arc<ReplayBudget>,
        elsewhere: Option<Box<dyn EventLog>>,
    ) -> Arc<Self> {
        let log = Log { replay: Replay::new(max_events, max_bytes), live: HashMap::new() };
        Arc::new_cyclic(|itself| Self {
            log: Mutex::new(log),
            retry,
            budget: (Arc::clone(budget), budget.enter(itself.clone() as Weak<dyn KeepsEvents>)),
            last_kept: AtomicU64::new(0),
            elsewhere,
        })
    }

    /// Pause before a client should come back.
    pub(super) fn retry(&self) -> Duration {
        self.retry
    }

    /// A stream gets its number: that of requests, or of messages without one. Clients may learn of
    /// it when the future has completed, if there is one.
    pub(super) fn open(&self, stream: &Arc<Stream>, requests: &[RequestId]) -> (u64, Option<BoxedTask<()>>) {
        let mut log = self.log.lock();
        let (number, kept) = match &self.elsewhere {
            Some(elsewhere) => {
                let number = elsewhere.next_stream();
                log.replay.open_as(number);
                (number, Some(elsewhere.opened(number, requests)))
            }
            None => (log.replay.open(), None),
        };
        log.live.insert(number, Arc::downgrade(stream));
        (number, kept)
    }

    /// Returns whether other processes find the events too: then they are kept as they come.
    pub(super) fn is_shared(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Ends the reading of a stream here: its client reads elsewhere.
    pub(super) fn give_up(&self, stream: u64) {
        let live = self.log.lock().live.get(&stream).cloned();
        if let Some(stream) = live.and_then(|stream| stream.upgrade()) {
            stream.give_up();
        }
    }

    pub(super) fn position(&self, stream: u64) -> EventId {
        self.log.lock().replay.position(stream)
    }

    /// Keeps a message that was given to a client, or waits for one: its place.
    pub(super) fn keep(&self, stream: u64, outgoing: &OutgoingMessage) -> Option<EventId> {
        let message = outgoing.message()?;
        self.last_kept.store(self.budget.0.next_event(), Ordering::Relaxed);
        let (id, before, now) = {
            let replay = &mut self.log.lock().replay;
            let before = replay.bytes();
            (replay.keep(stream, message), before, replay.bytes())
        };
        self.budget.0.changed(before, now);
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.kept(id, outgoing);
        }
        Some(id)
    }

    pub(super) fn finish(&self, stream: u64) {
        {
            let mut log = self.log.lock();
            log.live.remove(&stream);
            log.replay.finish(stream);
        }
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.finished(stream);
        }
    }

    pub(super) fn after(&self, last: EventId) -> Option<VecDeque<(EventId, Bytes)>> {
        self.log.lock().replay.after(last)
    }

    /// Reads on where a client stopped (HTTP-38). `None`: the event is of no stream of this
    /// session, or what followed it is not kept any more.
    pub(super) fn resume(&self, last: EventId) -> Option<StreamReader> {
        // The lock is free again before the stream is locked, or dropped.
        let live = self.log.lock().live.get(&last.stream()).cloned();
        match live.and_then(|stream| stream.upgrade()) {
            Some(stream) => stream.attach_after(last),
            None => self.after(last).map(StreamReader::of_the_past),
        }
    }
}

impl KeepsEvents for History {
    fn last_kept(&self) -> u64 {
        self.last_kept.load(Ordering::Relaxed)
    }

    fn lose_all(&self) -> usize {
        let mut log = self.log.lock();
        let bytes = log.replay.bytes();
        log.replay.lose_all();
        bytes
    }
}

impl Drop for History {
    fn drop(&mut self) {
        let bytes = self.log.lock().replay.bytes();
        self.budget.0.leave(self.budget.1, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(budget: &Arc<ReplayBudget>) -> Arc<History> {
        History::new((100, 1000), Duration::ZERO, budget, None)
    }

    fn keep(history: &History, bytes: usize) -> EventId {
        history.keep(0, &OutgoingMessage::Notification(Bytes::from(vec![b'x'; bytes]))).unwrap()
    }

    fn has(history: &History, last: EventId) -> bool {
        history.after(last).is_some()
    }

    #[test]
    fn beyond_the_bound_for_all_the_quietest_sessions_lose_their_events() {
        let budget = ReplayBudget::new(1000);
        let [quiet, busy, newest] = [(); 3].map(|()| history(&budget));
        let first_of_busy = keep(&busy, 300);
        let of_quiet = keep(&quiet, 300);
        keep(&busy, 200);
        assert_eq!(budget.bytes(), 800);
        keep(&newest, 300);
        assert_eq!(budget.bytes(), 800);
        assert!(has(&busy, first_of_busy) && has(&quiet, of_quiet), "nothing followed it");
        assert!(!has(&quiet, EventId::parse("0-0").unwrap()), "it has given way");
        keep(&newest, 100);
        keep(&newest, 200);
        assert_eq!(budget.bytes(), 600, "the busy one was the quietest then");
        drop(newest);
        assert_eq!(budget.bytes(), 0);
        assert_eq!(budget.sessions(), 2);
    }

    #[test]
    fn a_session_that_keeps_within_its_own_bound_counts_what_it_keeps() {
        let budget = ReplayBudget::new(10_000);
        let history = history(&budget);
        for _ in 0..10 {
            keep(&history, 400);
        }
        assert_eq!(budget.bytes(), 800);
    }
}

//! The resumable streams of a session.

use super::{
    response_stream::{Stream, StreamReader},
    workers::SessionLogs,
};
use crate::{
    fast_map::FastMap,
    http::replay::{EventId, Replay},
    protocol::RequestId,
    runtime::BoxedTask,
    server::OutgoingMessage,
    sync::Mutex,
};
use bytes::Bytes;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    ptr,
    sync::{
        Arc, MutexGuard, OnceLock, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The past events of a session's streams, and its live streams. Lock order: a stream first, then
/// this.
pub(super) struct History {
    /// Allocated with the first stream that a client can resume, because most sessions are idle.
    log: OnceLock<Box<Mutex<Log>>>,
    /// The limits, and the memory budget shared with other sessions.
    pub(super) budget: Arc<ReplayBudget>,
    /// The position of its newest event among those of all sessions.
    last_kept: AtomicU64,
    /// The client that its memory is charged to. Clients without a key count as one.
    holder: Option<Arc<str>>,
    /// Stores the same events for other processes.
    elsewhere: Option<SessionLogs>,
}

struct Log {
    replay: Replay,
    live: FastMap<u64, Weak<Stream>>,
}

impl History {
    /// `holder` is the client that its memory is charged to, and `elsewhere` stores the same events
    /// for other processes.
    pub(super) fn new(
        budget: &Arc<ReplayBudget>,
        holder: Option<Arc<str>>,
        elsewhere: Option<SessionLogs>,
    ) -> Arc<Self> {
        let (log, budget) = (OnceLock::new(), Arc::clone(budget));
        Arc::new(Self { log, budget, last_kept: AtomicU64::new(0), holder, elsewhere })
    }

    fn log(self: &Arc<Self>) -> MutexGuard<'_, Log> {
        let new = || {
            self.budget.enter(Arc::downgrade(self));
            let (max_events, max_bytes) = self.budget.each;
            let replay = Replay::new(max_events, max_bytes);
            Box::new(Mutex::new(Log { replay, live: FastMap::default() }))
        };
        self.log.get_or_init(new).lock()
    }

    /// Assigns a number to a stream of requests or of unrelated messages. Clients may learn of it
    /// once the returned future, if any, has completed.
    pub(super) fn open(self: &Arc<Self>, stream: &Arc<Stream>, requests: &[RequestId]) -> (u64, Option<BoxedTask<()>>) {
        let mut log = self.log();
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

    /// Returns whether events are shared with other processes. They are then stored as they occur.
    pub(super) fn is_shared(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Detaches the reader of a stream, because its client reads elsewhere.
    pub(super) fn give_up(self: &Arc<Self>, stream: u64) {
        let live = self.log().live.get(&stream).cloned();
        if let Some(stream) = live.and_then(|stream| stream.upgrade()) {
            stream.give_up();
        }
    }

    pub(super) fn position(self: &Arc<Self>, stream: u64) -> EventId {
        self.log().replay.position(stream)
    }

    /// Stores a message that was delivered, or is waiting for a client. Returns its position.
    pub(super) fn keep(self: &Arc<Self>, stream: u64, outgoing: &OutgoingMessage) -> Option<EventId> {
        let message = outgoing.message()?;
        self.last_kept.store(self.budget.kept.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let ((id, forgotten), kept, before, now) = {
            let replay = &mut self.log().replay;
            let before = replay.bytes();
            (replay.keep(stream, message), replay.kept(stream), before, replay.bytes())
        };
        self.budget.changed(before, now);
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.kept(id, outgoing, kept);
            forgotten.into_iter().for_each(|stream| elsewhere.finished(stream, 0));
        }
        Some(id)
    }

    pub(super) fn finish(self: &Arc<Self>, stream: u64) {
        let kept = {
            let mut log = self.log();
            log.live.remove(&stream);
            log.replay.finish(stream)
        };
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.finished(stream, kept);
        }
    }

    pub(super) fn after(self: &Arc<Self>, last: EventId) -> Option<VecDeque<(EventId, Bytes)>> {
        self.log().replay.after(last)
    }

    /// Resumes a stream after an event (HTTP-38). Returns `None` if the event belongs to no stream
    /// of this session, or what followed it has been dropped.
    pub(super) fn resume(self: &Arc<Self>, last: EventId) -> Option<StreamReader> {
        // Release the lock before the stream is locked or dropped.
        let live = self.log().live.get(&last.stream).cloned();
        match live.and_then(|stream| stream.upgrade()) {
            Some(stream) => stream.attach_after(last),
            None => self.after(last).map(StreamReader::of_the_past),
        }
    }

    /// The size of its events.
    fn bytes(&self) -> usize {
        self.log.get().map_or(0, |log| log.lock().replay.bytes())
    }

    /// Drops its events, also those in the store, because the session has ended.
    pub(super) fn forget(self: &Arc<Self>) {
        if self.log.get().is_none() {
            return;
        }
        let (bytes, forgotten) = self.lose_all();
        self.budget.changed(bytes, 0);
        if let Some(elsewhere) = &self.elsewhere {
            // The other streams are forgotten when they finish.
            forgotten.into_iter().for_each(|stream| elsewhere.finished(stream, 0));
        }
    }

    /// Drops its events. Returns their size, and the finished streams that had some.
    fn lose_all(self: &Arc<Self>) -> (usize, Vec<u64>) {
        let mut log = self.log();
        let bytes = log.replay.bytes();
        (bytes, log.replay.lose_all())
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if self.log.get().is_some() {
            self.budget.leave(self, self.bytes());
        }
    }
}

/// Memory budget for the events of all sessions of an endpoint. Lock order: this first, then a
/// history.
pub(super) struct ReplayBudget {
    max: usize,
    /// Maximum number and total size of events per session.
    each: (usize, usize),
    /// How long a client should wait before it reconnects.
    pub(super) retry: Duration,
    bytes: AtomicUsize,
    /// Number of events kept so far.
    kept: AtomicU64,
    /// By address, which stays theirs until they leave.
    histories: Mutex<HashMap<usize, Weak<History>>>,
}

impl ReplayBudget {
    pub(super) fn new(max: usize, each: (usize, usize), retry: Duration) -> Arc<Self> {
        let (bytes, kept) = (AtomicUsize::new(0), AtomicU64::new(0));
        Arc::new(Self { max, each, retry, bytes, kept, histories: Mutex::default() })
    }

    /// Registers a history.
    pub(super) fn enter(&self, history: Weak<History>) {
        self.histories.lock().insert(history.as_ptr().addr(), history);
    }

    pub(super) fn leave(&self, history: &History, bytes: usize) {
        self.histories.lock().remove(&ptr::from_ref(history).addr());
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Updates the size of a history. If the budget is exhausted, histories lose their events until
    /// an eighth of it is free, so that this doesn't happen with each event.
    pub(super) fn changed(&self, before: usize, now: usize) {
        // The sum wraps around, too, so this also subtracts.
        self.bytes.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
        if self.bytes.load(Ordering::Relaxed) > self.max {
            self.make_room();
        }
    }

    /// The current total size.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of sessions with a history.
    #[cfg(test)]
    pub(super) fn sessions(&self) -> usize {
        self.histories.lock().len()
    }

    /// Repeatedly drops the events of the longest-idle history of the client with the most, so that
    /// a client does not use up the memory of others.
    fn make_room(&self) {
        // Upgrade and drop them without the lock, because dropping the last reference acquires it.
        let mut histories: Vec<_> = self.histories.lock().values().filter_map(Weak::upgrade).collect();
        histories.sort_by_cached_key(|history| Reverse(history.last_kept.load(Ordering::Relaxed)));
        let mut shares = HashMap::<_, (usize, Vec<_>)>::new();
        for history in histories {
            let (bytes, histories) = shares.entry(history.holder.clone()).or_default();
            *bytes += history.bytes();
            histories.push(history);
        }
        let (sizes, mut shares): (Vec<_>, Vec<_>) = shares.into_values().unzip();
        let mut largest: BinaryHeap<_> = sizes.into_iter().zip(0_usize..).collect();
        while self.bytes.load(Ordering::Relaxed) > self.max - self.max / 8
            && let Some((bytes, number)) = largest.pop()
        {
            if let Some(quietest) = shares[number].pop() {
                let (lost, _) = quietest.lose_all();
                self.bytes.fetch_sub(lost, Ordering::Relaxed);
                largest.push((bytes.saturating_sub(lost), number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(budget: &Arc<ReplayBudget>) -> Arc<History> {
        History::new(budget, None, None)
    }

    fn keep(history: &Arc<History>, bytes: usize) -> EventId {
        history.keep(0, &OutgoingMessage::Notification(Bytes::from(vec![b'x'; bytes]))).unwrap()
    }

    fn has(history: &Arc<History>, last: EventId) -> bool {
        history.after(last).is_some()
    }

    #[test]
    fn beyond_the_bound_for_all_the_quietest_sessions_lose_their_events() {
        let budget = ReplayBudget::new(1000, (100, 1000), Duration::ZERO);
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
    fn beyond_the_bound_for_all_the_client_with_most_loses_events() {
        let budget = ReplayBudget::new(1000, (100, 1000), Duration::ZERO);
        let [bystander, first, second, nobody] = [Some("bystander"), Some("greedy"), Some("greedy"), None]
            .map(|holder| History::new(&budget, holder.map(Into::into), None));
        let sizes = || [&bystander, &first, &second, &nobody].map(|history| history.bytes());
        keep(&bystander, 100);
        keep(&first, 500);
        keep(&second, 500);
        assert_eq!(sizes(), [100, 0, 500, 0], "the longest idle of the greedy one");
        assert!(has(&bystander, EventId::parse("0-0").unwrap()));
        keep(&first, 401);
        assert_eq!(sizes(), [100, 401, 0, 0]);
        keep(&nobody, 500);
        assert_eq!(sizes(), [100, 401, 0, 0], "without a key, it has the most");
        assert_eq!(budget.bytes(), 501);
    }

    #[test]
    fn a_session_that_keeps_within_its_own_bound_counts_what_it_keeps() {
        let budget = ReplayBudget::new(10_000, (100, 1000), Duration::ZERO);
        let history = history(&budget);
        for _ in 0..10 {
            keep(&history, 400);
        }
        assert_eq!(budget.bytes(), 800);
    }
}

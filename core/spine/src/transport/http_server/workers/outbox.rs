//! Queues entries for logs of the store, in order.

use super::store_keys;
use crate::{
    counts::Counts,
    engine::later,
    runtime::Runtime,
    store::{Store, StoreErrorKind, StoreGuard},
    sync::Mutex,
};
use std::{
    collections::{HashSet, VecDeque},
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Notify, oneshot::Sender};

/// Maximum number of queued entries, and of their bytes.
const MAX_WAITING: usize = 10_000;
const MAX_BYTES: usize = 32 << 20;
/// The wait after a failure of the store.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// The wait of a session whose next entry does not fit in the store.
const FULL_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The queued entries. They wait while the store is unavailable, and those of a session whose next
/// entry does not fit wait for room. Beyond the limits, the oldest entry of the session with the
/// most bytes is dropped.
pub(super) struct Outbox {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    waiting: Mutex<WaitingEntries>,
    /// Notified when nothing is queued anymore.
    sent: Notify,
}

#[derive(Default)]
struct WaitingEntries {
    entries: VecDeque<Arc<OutboxEntry>>,
    /// The bytes of each session; `None` stands for the server.
    bytes: Counts<Option<Arc<str>>>,
    is_sending: bool,
    /// Sessions whose next entry did not fit, and when they are tried again.
    full: Option<(Instant, HashSet<Option<Arc<str>>>)>,
    /// The last call to the store failed.
    is_away: bool,
    lost: u64,
}

/// A queued entry.
pub(super) struct OutboxEntry {
    /// The account of the entry: its session, or the common one of entries about tasks. `None`
    /// stands for the server.
    pub(super) of: Option<Arc<str>>,
    /// The key of the log.
    pub(super) log: String,
    /// The entry.
    pub(super) text: String,
    /// Maximum number of entries of the log; `None` for a log of messages between workers.
    pub(super) max_entries: Option<usize>,
    pub(super) keep_for: Duration,
    /// The entry of the messages log that announces this one, once it is stored.
    pub(super) wake: Option<(&'static str, String)>,
    /// Dropped with the entry, or as soon as the store is unavailable, so that no caller waits for
    /// the store.
    pub(super) watcher: Watcher,
}

pub(super) type Watcher = Mutex<Option<Sender<Infallible>>>;

impl Outbox {
    pub(super) fn new(store: StoreGuard, runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { store, runtime, waiting: Mutex::default(), sent: Notify::new() })
    }

    /// Queues an entry.
    pub(super) fn push(self: &Arc<Self>, entry: OutboxEntry) {
        if self.enter(entry) {
            self.runtime.spawn(Box::pin(Arc::clone(self).send_all()));
        }
    }

    /// Completes when nothing is queued.
    pub(super) async fn sent(&self) {
        let sent = self.sent.notified();
        if self.waiting.lock().is_sending {
            sent.await;
        }
    }

    /// Queues an entry. Returns `true` if no task is sending entries yet.
    fn enter(&self, entry: OutboxEntry) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.push(entry);
        while waiting.entries.len() > 1 && (waiting.entries.len() > MAX_WAITING || waiting.bytes.all > MAX_BYTES) {
            waiting.give_way();
            if waiting.lost == 0 {
                tracing::error!(target: "trunkline::store", "the store {} is too slow or full: dropping messages for other processes", self.store.name());
            }
            waiting.lost += 1;
        }
        !std::mem::replace(&mut waiting.is_sending, true)
    }

    async fn send_all(self: Arc<Self>) {
        let mut stored: Option<Arc<OutboxEntry>> = None;
        loop {
            let next = {
                let mut waiting = self.waiting.lock();
                waiting.is_sending = !waiting.entries.is_empty();
                waiting.is_sending.then(|| waiting.next(self.runtime.now()))
            };
            // Of several consecutive entries, only the last one that was stored wakes. If this
            // fails, the stream finds the events when it polls.
            let is_last = |stored: &mut Arc<OutboxEntry>| !matches!(&next, Some(Ok(next)) if next.log == stored.log);
            if let Some((log, text)) = stored.take_if(is_last).as_ref().and_then(|stored| stored.wake.as_ref()) {
                let _ = self.store.send(log, text, store_keys::keep_for(log)).await;
            }
            let entry = match next {
                None => return self.sent.notify_waiters(),
                Some(Ok(entry)) => entry,
                Some(Err(full_until)) => {
                    self.runtime.sleep_until(full_until).await;
                    continue;
                }
            };
            let appended = match entry.max_entries {
                Some(most) => self.store.append(&entry.log, &entry.text, most, entry.keep_for).await,
                None => self.store.send(&entry.log, &entry.text, entry.keep_for).await,
            };
            let kind = appended.as_ref().err().map(|error| error.kind);
            self.waiting.lock().set_away(kind == Some(StoreErrorKind::Unavailable));
            match appended {
                Err(error) if error.kind == StoreErrorKind::Unavailable => {
                    self.runtime.sleep_until(later(self.runtime.now(), RETRY_DELAY)).await;
                    continue;
                }
                Err(error) if error.kind == StoreErrorKind::Full => {
                    self.waiting.lock().set_full(&entry.of, self.runtime.now());
                    continue;
                }
                Err(error) => tracing::error!(target: "trunkline::store", "{error}"),
                Ok(_) => {}
            }
            self.waiting.lock().remove(&entry);
            stored = Some(entry);
        }
    }
}

impl WaitingEntries {
    fn set_away(&mut self, is_away: bool) {
        self.is_away = is_away;
        if is_away {
            self.entries.iter().for_each(|entry| drop(entry.watcher.lock().take()));
        }
    }

    fn push(&mut self, entry: OutboxEntry) {
        if self.is_away {
            entry.watcher.lock().take();
        }
        self.bytes.add(Some(&entry.of), entry.text.len());
        self.entries.push_back(Arc::new(entry));
    }

    /// The oldest entry of a session that is not waiting for room, or else the time until when all
    /// wait.
    fn next(&mut self, now: Instant) -> Result<Arc<OutboxEntry>, Instant> {
        self.full.take_if(|(until, _)| *until <= now);
        let Some((until, full)) = &self.full else { return self.entries.front().cloned().ok_or(now) };
        self.entries.iter().find(|entry| !full.contains(&entry.of)).cloned().ok_or(*until)
    }

    /// Lets a session wait for room, so that its entries do not delay those of others.
    fn set_full(&mut self, session: &Option<Arc<str>>, now: Instant) {
        let (_, full) = self.full.get_or_insert_with(|| (later(now, FULL_RETRY_DELAY), HashSet::new()));
        full.insert(session.clone());
        self.entries.iter().filter(|entry| entry.of == *session).for_each(|entry| drop(entry.watcher.lock().take()));
    }

    /// Removes an entry, unless it was dropped to stay within the limits.
    fn remove(&mut self, entry: &Arc<OutboxEntry>) {
        if let Some(index) = self.entries.iter().position(|other| Arc::ptr_eq(other, entry)) {
            self.take(index);
        }
    }

    /// Drops the oldest entry of the session with the most bytes, so that it does not use up the
    /// capacity of others.
    fn give_way(&mut self) {
        let most = self.bytes.greatest();
        let oldest = self.entries.iter().position(|entry| Some(&entry.of) == most);
        self.take(oldest.unwrap_or_default());
    }

    fn take(&mut self, index: usize) {
        let Some(entry) = self.entries.remove(index) else { return };
        self.bytes.give_back(Some(&entry.of), entry.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::{LogEntry, ProcessStore, StoreError, StoreTask},
        transport::TokioRuntime,
    };
    use std::{
        future::ready,
        sync::atomic::{AtomicBool, Ordering},
    };

    fn entry(of: Option<&str>, text: &str) -> OutboxEntry {
        let keep_for = Duration::from_secs(60);
        let (log, text) = (of.unwrap_or("all").to_owned(), text.to_owned());
        OutboxEntry {
            of: of.map(Into::into),
            log,
            text,
            max_entries: Some(9),
            keep_for,
            wake: None,
            watcher: Watcher::default(),
        }
    }

    #[test]
    fn entries_of_the_session_with_most_give_way() {
        let mut waiting = WaitingEntries::default();
        for (of, text) in [(Some("bystander"), "b1"), (None, "a1"), (Some("greedy"), "g1"), (Some("bystander"), "b2")] {
            waiting.push(entry(of, text));
        }
        for number in 2..100 {
            waiting.push(entry(Some("greedy"), &format!("g{number}")));
        }
        for _ in 0..98 {
            waiting.give_way();
        }
        let left: Vec<_> = waiting.entries.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(left, ["b1", "a1", "b2", "g99"]);
        let bytes = |of: Option<&str>| waiting.bytes.of(Some(&of.map(Into::into)));
        assert_eq!([bytes(None), bytes(Some("bystander")), bytes(Some("greedy"))], [2, 4, 3]);
        assert_eq!(waiting.bytes.all, 9);
        (0..4).for_each(|_| waiting.take(0));
        assert!(waiting.bytes.all == 0 && waiting.bytes.greatest().is_none());
    }

    /// A store without room for long entries, until it gets some.
    struct Small(ProcessStore, AtomicBool);

    impl Store for Small {
        fn get(&self, key: &str) -> StoreTask<Option<String>> {
            self.0.get(key)
        }

        fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
            self.0.put(key, text, keep_for)
        }

        fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
            self.0.put_if(key, expected, text, keep_for)
        }

        fn remove(&self, key: &str) -> StoreTask {
            self.0.remove(key)
        }

        fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
            if entry.len() > 5 && !self.1.load(Ordering::Relaxed) {
                return Box::pin(ready(Err(StoreError::new(StoreErrorKind::Full, "test:", "no room"))));
            }
            self.0.append(log, entry, max_entries, keep_for)
        }

        fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
            self.0.read(log, after, limit, wait)
        }
    }

    /// An entry that does not fit waits for room, with those behind it of its session, while those
    /// of other sessions are sent.
    #[tokio::test(start_paused = true)]
    async fn an_entry_without_room_delays_only_its_session() {
        let runtime = TokioRuntime::current();
        let store = Arc::new(Small(ProcessStore::new(runtime.clone()), AtomicBool::new(false)));
        let guard = StoreGuard::new(store.clone(), "test:", runtime.clone(), Duration::from_secs(5));
        let outbox = Outbox::new(guard, runtime);
        for (of, text) in [("greedy", "too long"), ("bystander", "short"), ("greedy", "next"), ("bystander", "last")] {
            outbox.push(entry(Some(of), text));
        }
        let texts = async |log: &str| {
            let entries = store.read(log, 0, 9, Duration::ZERO).await.unwrap();
            entries.into_iter().map(|entry| entry.text).collect::<Vec<_>>()
        };
        tokio::time::sleep(3 * FULL_RETRY_DELAY).await;
        assert_eq!((texts("bystander").await, texts("greedy").await), (vec!["short".into(), "last".into()], vec![]));
        store.1.store(true, Ordering::Relaxed);
        tokio::time::sleep(2 * FULL_RETRY_DELAY).await;
        assert_eq!(texts("greedy").await, ["too long", "next"]);
        let waiting = outbox.waiting.lock();
        assert!(waiting.entries.is_empty() && waiting.bytes.all == 0 && !waiting.is_sending);
    }

    /// Even if the one behind it has no room.
    #[tokio::test(start_paused = true)]
    async fn a_stored_entry_wakes_its_stream() {
        let runtime = TokioRuntime::current();
        let store = Arc::new(Small(ProcessStore::new(runtime.clone()), AtomicBool::new(false)));
        let guard = StoreGuard::new(store.clone(), "test:", runtime.clone(), Duration::from_secs(5));
        let outbox = Outbox::new(guard, runtime);
        for text in ["1", "2", "too long"] {
            outbox.push(OutboxEntry { wake: Some(("wakes", text.to_owned())), ..entry(Some("greedy"), text) });
        }
        tokio::time::sleep(3 * FULL_RETRY_DELAY).await;
        let woken = store.read("wakes", 0, 9, Duration::ZERO).await.unwrap();
        assert_eq!(woken.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["2"]);
    }
}

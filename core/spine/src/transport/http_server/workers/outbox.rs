//! Queues entries for logs of the store. Those of one account stay in order, and accounts take
//! turns.

use super::store_keys;
use crate::{
    engine::later,
    runtime::Runtime,
    store::{Store, StoreErrorKind, StoreGuard},
    sync::Mutex,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
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

/// The queued entries. They wait while the store is unavailable, and those of an account whose next
/// entry does not fit wait for room. Beyond a limit, the oldest entry of the account with the most
/// of what is limited is dropped.
pub(super) struct Outbox {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    waiting: Mutex<WaitingEntries>,
    /// Notified when nothing is queued anymore.
    sent: Notify,
}

/// A session, or the common one of entries about tasks. `None` stands for the server.
type Account = Option<Arc<str>>;

#[derive(Default)]
struct WaitingEntries {
    /// The accounts with queued entries.
    queues: HashMap<Account, AccountQueue>,
    /// The same accounts by their turns, the next one first.
    turns: BTreeMap<u64, Account>,
    last_turn: u64,
    /// The number and bytes of all entries.
    entries: usize,
    bytes: usize,
    is_sending: bool,
    /// Accounts whose next entry did not fit, and when they are tried again.
    full: Option<(Instant, HashSet<Account>)>,
    /// The last call to the store failed.
    is_away: bool,
    lost: u64,
}

/// The queued entries of one account.
struct AccountQueue {
    turn: u64,
    entries: VecDeque<Arc<OutboxEntry>>,
    bytes: usize,
}

/// A queued entry.
pub(super) struct OutboxEntry {
    /// The account of the entry.
    pub(super) of: Account,
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
        while waiting.entries > 1 && (waiting.entries > MAX_WAITING || waiting.bytes > MAX_BYTES) {
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
                waiting.is_sending = waiting.entries > 0;
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
            self.queues.values().for_each(AccountQueue::drop_watchers);
        }
    }

    fn push(&mut self, entry: OutboxEntry) {
        if self.is_away {
            entry.watcher.lock().take();
        }
        let queue = self.queues.entry(entry.of.clone()).or_insert_with(|| {
            self.last_turn += 1;
            self.turns.insert(self.last_turn, entry.of.clone());
            AccountQueue { turn: self.last_turn, entries: VecDeque::new(), bytes: 0 }
        });
        self.entries += 1;
        self.bytes += entry.text.len();
        queue.bytes += entry.text.len();
        queue.entries.push_back(Arc::new(entry));
    }

    /// The oldest entry of the next account that is not waiting for room, or else the time until
    /// when all wait.
    fn next(&mut self, now: Instant) -> Result<Arc<OutboxEntry>, Instant> {
        self.full.take_if(|(until, _)| *until <= now);
        let waits = |account: &Account| self.full.as_ref().is_some_and(|(_, full)| full.contains(account));
        let Some(turn) = self.turns.iter().find(|(_, account)| !waits(account)).map(|(turn, _)| *turn) else {
            return Err(self.full.as_ref().map_or(now, |(until, _)| *until));
        };
        let next = self.turns.remove(&turn).and_then(|account| {
            let queue = self.queues.get_mut(&account)?;
            self.last_turn += 1;
            queue.turn = self.last_turn;
            self.turns.insert(queue.turn, account);
            queue.entries.front().cloned()
        });
        next.ok_or(now)
    }

    /// Lets an account wait for room, so that its entries do not delay those of others.
    fn set_full(&mut self, account: &Account, now: Instant) {
        let (_, full) = self.full.get_or_insert_with(|| (later(now, FULL_RETRY_DELAY), HashSet::new()));
        full.insert(account.clone());
        self.queues.get(account).into_iter().for_each(AccountQueue::drop_watchers);
    }

    /// Removes an entry that was sent, unless it was dropped to stay within the limits.
    fn remove(&mut self, entry: &Arc<OutboxEntry>) {
        let oldest = self.queues.get(&entry.of).and_then(|queue| queue.entries.front());
        if oldest.is_some_and(|oldest| Arc::ptr_eq(oldest, entry)) {
            self.take(&entry.of);
        }
    }

    /// Drops the oldest entry of the account with the most entries or bytes, whatever is above its
    /// limit, so that it does not use up the capacity of others.
    fn give_way(&mut self) {
        let by_entries = self.entries > MAX_WAITING;
        let size = |queue: &AccountQueue| if by_entries { queue.entries.len() } else { queue.bytes };
        let most = self.queues.iter().max_by_key(|(_, queue)| size(queue)).map(|(account, _)| account.clone());
        most.iter().for_each(|account| self.take(account));
    }

    /// Removes the oldest entry of an account.
    fn take(&mut self, account: &Account) {
        let Some(queue) = self.queues.get_mut(account) else { return };
        if let Some(entry) = queue.entries.pop_front() {
            self.entries -= 1;
            self.bytes -= entry.text.len();
            queue.bytes -= entry.text.len();
        }
        if queue.entries.is_empty() {
            self.turns.remove(&queue.turn);
            self.queues.remove(account);
        }
    }
}

impl AccountQueue {
    /// Nothing waits for the store any more.
    fn drop_watchers(&self) {
        self.entries.iter().for_each(|entry| drop(entry.watcher.lock().take()));
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

    fn account(name: &str) -> Account {
        Some(name.into())
    }

    fn texts(waiting: &WaitingEntries, account: &Account) -> Vec<String> {
        let queue = waiting.queues.get(account);
        queue.into_iter().flat_map(|queue| &queue.entries).map(|entry| entry.text.clone()).collect()
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
        let left = [None, account("bystander"), account("greedy")].map(|account| texts(&waiting, &account));
        assert_eq!(left, [vec!["a1"], vec!["b1", "b2"], vec!["g99"]]);
        assert_eq!((waiting.entries, waiting.bytes), (4, 9));
        let next: Vec<_> = (0..6).map(|_| waiting.next(Instant::now()).unwrap().text.clone()).collect();
        assert_eq!(next, ["b1", "a1", "g99", "b1", "a1", "g99"], "by turns, until they are sent");
        for of in [account("bystander"), None, account("greedy"), account("bystander")] {
            waiting.take(&of);
        }
        assert_eq!((waiting.entries, waiting.bytes, waiting.turns.len(), waiting.queues.len()), (0, 0, 0, 0));
    }

    /// A few long entries do not give way to many short ones, nor the other way around.
    #[tokio::test]
    async fn entries_of_the_session_with_most_of_what_is_short_give_way() {
        let (_, outbox) = outbox(Duration::ZERO);
        outbox.enter(entry(Some("bystander"), &"b".repeat(2 << 20)));
        for _ in 0..MAX_WAITING {
            outbox.enter(entry(Some("greedy"), "g"));
        }
        let left = |of| outbox.waiting.lock().queues.get(&account(of)).map_or(0, |queue| queue.entries.len());
        assert_eq!((left("bystander"), left("greedy")), (1, MAX_WAITING - 1));
        for _ in 0..8 {
            outbox.enter(entry(Some("long"), &"l".repeat(MAX_BYTES / 8)));
        }
        assert_eq!((left("bystander"), left("greedy"), left("long")), (1, MAX_WAITING - 9, 7));
    }

    /// A store without room for long entries, until it gets some. An append takes some time.
    struct Small(ProcessStore, AtomicBool, Duration);

    fn outbox(delay: Duration) -> (Arc<Small>, Arc<Outbox>) {
        let runtime = TokioRuntime::current();
        let store = Arc::new(Small(ProcessStore::new(runtime.clone()), AtomicBool::new(false), delay));
        let guard = StoreGuard::new(store.clone(), "test:", runtime.clone(), Duration::from_secs(5));
        (store, Outbox::new(guard, runtime))
    }

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
            let (appended, delay) = (self.0.append(log, entry, max_entries, keep_for), self.2);
            Box::pin(async move {
                tokio::time::sleep(delay).await;
                appended.await
            })
        }

        fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
            self.0.read(log, after, limit, wait)
        }
    }

    /// An entry that does not fit waits for room, with those behind it of its session, while those
    /// of other sessions are sent.
    #[tokio::test(start_paused = true)]
    async fn an_entry_without_room_delays_only_its_session() {
        let (store, outbox) = outbox(Duration::ZERO);
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
        assert_eq!((waiting.entries, waiting.bytes, waiting.is_sending), (0, 0, false));
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_does_not_wait_for_all_those_of_another_session() {
        let (store, outbox) = outbox(Duration::from_millis(1));
        (0..1000).for_each(|number| outbox.push(entry(Some("greedy"), &format!("g{number}"))));
        outbox.push(entry(Some("bystander"), "one"));
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(store.read("bystander", 0, 9, Duration::ZERO).await.unwrap().len(), 1);
        outbox.sent().await;
        let greedy = store.read("greedy", 0, 9, Duration::ZERO).await.unwrap();
        let greedy: Vec<_> = greedy.into_iter().map(|entry| entry.text).collect();
        assert_eq!(greedy, (991..1000).map(|number| format!("g{number}")).collect::<Vec<_>>());
    }

    /// Even if the one behind it has no room.
    #[tokio::test(start_paused = true)]
    async fn a_stored_entry_wakes_its_stream() {
        let (store, outbox) = outbox(Duration::ZERO);
        for text in ["1", "2", "too long"] {
            outbox.push(OutboxEntry { wake: Some(("wakes", text.to_owned())), ..entry(Some("greedy"), text) });
        }
        tokio::time::sleep(3 * FULL_RETRY_DELAY).await;
        let woken = store.read("wakes", 0, 9, Duration::ZERO).await.unwrap();
        assert_eq!(woken.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["2"]);
    }
}

//! Adds deadlines to a store and fails fast while it is unavailable.

use super::{LogEntry, Store, StoreError, StoreErrorKind, StoreTask, Waiting};
use crate::{backoff::Backoff, engine::later, on_drop::OnDrop, race, runtime::Runtime, sync::Mutex};
use std::{
    future::{Future, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Maximum key length in bytes.
const MAX_KEY: usize = 512;
/// The wait after a failure of the store.
pub(super) const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5) };
/// How often entries are looked for if the store itself does not wait for them.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const PANICKED: &str = "it panicked";

/// A store with a deadline for every call.
///
/// After a failure, calls fail immediately with the same error until the next retry is due: after
/// 100 ms, doubling with each failure up to 5 s. One call then tries the store again. Requests
/// never queue behind an unavailable store, and it is used again soon after it recovers.
///
/// A store does not have to implement waiting. If [`Store::read`] returns no entries before the
/// wait time is over, the guard polls: immediately when an entry is appended through it, and every
/// 100 ms for entries of other processes.
#[derive(Clone)]
pub struct StoreGuard {
    store: Arc<dyn Store>,
    name: Arc<str>,
    pub(super) runtime: Arc<dyn Runtime>,
    deadline: Duration,
    /// Set while the store is thought to be unavailable.
    away: Arc<Mutex<Option<Away>>>,
    errors: Arc<AtomicU64>,
    waiting: Arc<Waiting>,
}

struct Away {
    error: StoreError,
    /// Number of failed retries.
    retries: u32,
    /// When the next call may try the store again.
    again: Instant,
}

impl StoreGuard {
    /// Guards a store. `name` is its URL without a password, `deadline` the maximum time of a call,
    /// not counting the time spent waiting for log entries.
    pub fn new(store: Arc<dyn Store>, name: &str, runtime: Arc<dyn Runtime>, deadline: Duration) -> Self {
        let (name, away, errors) = (name.into(), Arc::default(), Arc::default());
        let waiting = Waiting::new(Arc::clone(&runtime), POLL_INTERVAL);
        Self { store, name, runtime, deadline, away, errors, waiting }
    }

    /// Counts errors in the given counter.
    pub(crate) fn counting(self, errors: Arc<AtomicU64>) -> Self {
        Self { errors, ..self }
    }

    /// Number of failed calls so far, including those that failed fast.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// The URL of the store, without its password.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The error that calls currently get, or `None` if the store is thought to be available.
    #[must_use]
    pub fn failure(&self) -> Option<StoreError> {
        self.away.lock().as_ref().map(|away| away.error.clone())
    }

    fn call<T: Send + 'static>(
        &self,
        key: &str,
        wait: Duration,
        call: impl FnOnce(&dyn Store) -> StoreTask<T>,
    ) -> StoreTask<T> {
        let trial = match self.admit(key) {
            // If its caller gives up, another call tries.
            Ok(is_trial) => is_trial.then(|| {
                let guard = self.clone();
                OnDrop::new(move || guard.try_again())
            }),
            Err(error) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                return Box::pin(ready(Err(error)));
            }
        };
        // A store may do its work before it returns its future.
        let done = catch_unwind(AssertUnwindSafe(|| call(&*self.store)));
        let done = done.unwrap_or_else(|_| Box::pin(ready(Err(self.failed(PANICKED)))));
        let guard = self.clone();
        Box::pin(async move {
            let outcome = guard.within_deadline(wait, done).await;
            if outcome.is_err() {
                guard.errors.fetch_add(1, Ordering::Relaxed);
            }
            guard.note(outcome.as_ref().err(), trial.is_some());
            trial.into_iter().for_each(OnDrop::disarm);
            outcome
        })
    }

    /// Admits a call. Returns `true` if it is the one that retries a failed store.
    fn admit(&self, key: &str) -> Result<bool, StoreError> {
        if key.is_empty() || key.len() > MAX_KEY || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let problem = format!("keys are printable ASCII of 1 to {MAX_KEY} bytes, not {key:?}");
            return Err(StoreError::new(StoreErrorKind::Invalid, &*self.name, problem));
        }
        let mut away = self.away.lock();
        let Some(away) = &mut *away else { return Ok(false) };
        let now = self.runtime.now();
        if now < away.again {
            return Err(away.error.clone());
        }
        // Other calls keep failing until this one completes.
        away.again = later(now, BACKOFF.after(away.retries).max(self.deadline));
        Ok(true)
    }

    async fn within_deadline<T>(
        &self,
        wait: Duration,
        done: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match race::within(&*self.runtime, self.deadline.saturating_add(wait), race::guarded(done)).await {
            Some(Some(outcome)) => outcome,
            Some(None) => Err(self.failed(PANICKED)),
            None => Err(self.failed(&format!("it did not answer within {:?}", self.deadline))),
        }
    }

    fn failed(&self, problem: &str) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, &*self.name, problem)
    }

    fn note(&self, error: Option<&StoreError>, is_trial: bool) {
        let mut current = self.away.lock();
        match (error.filter(|error| error.kind == StoreErrorKind::Unavailable), &*current) {
            // Concurrent failures count once.
            (Some(_), Some(_)) if !is_trial => {}
            (Some(error), away) => {
                let retries = away.as_ref().map_or(0, |away| away.retries.saturating_add(1));
                if away.is_none() {
                    tracing::warn!(target: "trunkline::store", "{error}");
                }
                let again = later(self.runtime.now(), BACKOFF.after(retries));
                *current = Some(Away { error: error.clone(), retries, again });
            }
            (None, Some(_)) => {
                *current = None;
                tracing::info!(target: "trunkline::store", "The store {} is available again", self.name);
            }
            (None, None) => {}
        }
    }

    /// Lets the next call try a store that has failed.
    fn try_again(&self) {
        if let Some(away) = &mut *self.away.lock() {
            away.again = self.runtime.now();
        }
    }
}

impl Store for StoreGuard {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        self.call(key, Duration::ZERO, |store| store.get(key))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        self.call(key, Duration::ZERO, |store| store.put(key, text, keep_for))
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        self.call(key, Duration::ZERO, |store| store.put_if(key, expected, text, keep_for))
    }

    fn remove(&self, key: &str) -> StoreTask {
        self.call(key, Duration::ZERO, |store| store.remove(key))
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        let (waiting, name) = (Arc::clone(&self.waiting), log.to_owned());
        let appended = self.call(log, Duration::ZERO, |store| store.append(log, entry, max_entries, keep_for));
        Box::pin(async move {
            let position = appended.await?;
            waiting.wake(&name);
            Ok(position)
        })
    }

    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
        let (guard, name) = (self.clone(), log.to_owned());
        let look = Box::new(move |wait| {
            // A call that tries a failed store again must not wait: until it completes, others
            // fail.
            let wait = if guard.failure().is_none() { wait } else { Duration::ZERO };
            guard.call(&name, wait, |store| store.read(&name, after, limit, wait))
        });
        Box::pin(Arc::clone(&self.waiting).read(log.to_owned(), look, wait))
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{
        faulty_store::{FaultyStore, StoreFault},
        store::ProcessStore,
        tests::driver_contract,
        transport::TokioRuntime,
    };

    const MINUTE: Duration = Duration::from_secs(60);
    const CALL_TIMEOUT: Duration = Duration::from_millis(200);

    fn guarded() -> (Arc<FaultyStore>, StoreGuard) {
        let runtime = TokioRuntime::current();
        let sleeper = FaultyStore::new(Arc::new(ProcessStore::new(Arc::clone(&runtime))));
        let guard = StoreGuard::new(Arc::clone(&sleeper) as Arc<dyn Store>, "test:", runtime, CALL_TIMEOUT);
        (sleeper, guard)
    }

    #[tokio::test]
    async fn a_guarded_store_keeps_the_contract() {
        let guard = guarded().1;
        driver_contract::check(Arc::new(guard.clone()), Arc::new(guard)).await;
    }

    #[tokio::test]
    async fn a_silent_store_fails_within_the_deadline_then_at_once_and_is_in_use_again_by_itself() {
        let (sleeper, guard) = guarded();
        guard.put("a", "1", MINUTE).await.unwrap();
        sleeper.set(Some(StoreFault::Silent));
        let begin = Instant::now();
        let error = guard.get("a").await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert_eq!(error.to_string(), "The store test: is not available: it did not answer within 200ms");
        assert!(begin.elapsed() >= CALL_TIMEOUT);
        let (begin, calls) = (Instant::now(), sleeper.calls());
        for _ in 0..1000 {
            assert_eq!(guard.get("a").await.unwrap_err(), error);
        }
        assert!(begin.elapsed() < BACKOFF.first, "at once");
        assert_eq!(sleeper.calls(), calls, "the store has peace");
        assert_eq!(guard.errors(), 1001);
        assert_eq!(guard.failure(), Some(error));
        sleeper.set(None);
        tokio::time::sleep(BACKOFF.first).await;
        assert_eq!(guard.get("a").await.unwrap().as_deref(), Some("1"));
        assert_eq!(guard.failure(), None);
    }

    #[tokio::test]
    async fn one_call_at_a_time_tries_a_store_that_has_failed() {
        let (sleeper, guard) = guarded();
        sleeper.set(Some(StoreFault::Silent));
        // Concurrent failures count once.
        let (one, other) = tokio::join!(guard.get("a"), guard.get("b"));
        assert!(one.is_err() && other.is_err());
        tokio::time::sleep(BACKOFF.first).await;
        let calls = sleeper.calls();
        let trial = tokio::spawn(guard.get("a"));
        for _ in 0..10 {
            assert!(guard.get("b").await.is_err());
        }
        assert_eq!(sleeper.calls(), calls + 1);
        assert!(trial.await.unwrap().is_err());
        sleeper.set(None);
        tokio::time::sleep(BACKOFF.first).await;
        assert!(guard.get("a").await.is_err(), "the pause doubles");
        tokio::time::sleep(BACKOFF.first).await;
        assert_eq!(guard.get("a").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_call_whose_caller_gives_up_leaves_the_trial_to_the_next() {
        let (sleeper, guard) = guarded();
        sleeper.set_away(true);
        assert!(guard.get("a").await.is_err());
        tokio::time::sleep(BACKOFF.first).await;
        sleeper.set(None);
        // One that was never awaited, as that of a client that has disconnected.
        drop(guard.get("a"));
        assert_eq!(guard.get("a").await.unwrap(), None);
        assert_eq!(guard.failure(), None);
    }

    #[tokio::test]
    async fn a_read_that_tries_a_store_again_does_not_wait_for_entries() {
        let (sleeper, guard) = guarded();
        sleeper.set_away(true);
        assert!(guard.get("a").await.is_err());
        sleeper.set(None);
        tokio::time::sleep(BACKOFF.first).await;
        let reading = tokio::spawn(guard.read("l", 0, 1, MINUTE));
        tokio::time::sleep(CALL_TIMEOUT / 10).await;
        assert_eq!(guard.get("a").await.unwrap(), None);
        guard.append("l", "1", 1, MINUTE).await.unwrap();
        assert_eq!(reading.await.unwrap().unwrap().len(), 1);
    }

    /// A store that panics before it returns a future.
    struct Broken;

    impl Store for Broken {
        fn get(&self, _: &str) -> StoreTask<Option<String>> {
            panic!("get")
        }
        fn put(&self, _: &str, _: &str, _: Duration) -> StoreTask {
            panic!("put")
        }
        fn put_if(&self, _: &str, _: Option<&str>, _: &str, _: Duration) -> StoreTask<bool> {
            panic!("put_if")
        }
        fn remove(&self, _: &str) -> StoreTask {
            panic!("remove")
        }
        fn append(&self, _: &str, _: &str, _: usize, _: Duration) -> StoreTask<u64> {
            panic!("append")
        }
        fn read(&self, _: &str, _: u64, _: usize, _: Duration) -> StoreTask<Vec<LogEntry>> {
            panic!("read")
        }
    }

    #[tokio::test]
    async fn a_store_that_panics_is_not_available() {
        let guard = StoreGuard::new(Arc::new(Broken), "test:", TokioRuntime::current(), CALL_TIMEOUT);
        assert_eq!(guard.get("a").await.unwrap_err().to_string(), "The store test: is not available: it panicked");
        tokio::time::sleep(BACKOFF.first).await;
        assert_eq!(guard.read("l", 0, 1, MINUTE).await.unwrap_err().problem, "it panicked");
    }

    #[tokio::test]
    async fn waiting_for_an_entry_adds_to_the_deadline() {
        let (_, guard) = guarded();
        let begin = Instant::now();
        assert_eq!(guard.read("l", 0, 1, 2 * CALL_TIMEOUT).await.unwrap(), []);
        assert!(begin.elapsed() >= 2 * CALL_TIMEOUT);
    }

    #[tokio::test]
    async fn keys_are_printable_and_short() {
        let (_, guard) = guarded();
        for key in ["", "a b", "ä", "a\n", &"k".repeat(513)] {
            let error = guard.get(key).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "{key}");
        }
        guard.put(&"k".repeat(512), "1", MINUTE).await.unwrap();
        assert_eq!(guard.failure(), None);
    }
}

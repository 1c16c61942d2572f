//! A store that fails on demand. The unit tests of the library include this file as well.

use std::{
    future::{pending, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use trunkline::store::{LogEntry, Store, StoreError, StoreErrorKind, StoreTask};

/// A store for tests, which forwards to another one unless a fault is set.
pub struct FaultyStore {
    store: Arc<dyn Store>,
    fault: Mutex<Option<StoreFault>>,
    calls: AtomicUsize,
}

/// The fault of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// Calls never complete.
    Silent,
    /// Calls fail.
    Failing(StoreErrorKind),
}

impl FaultyStore {
    /// Wraps a store, without a fault.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, fault: Mutex::default(), calls: AtomicUsize::new(0) })
    }

    /// Sets or clears the fault for subsequent calls.
    pub fn set(&self, fault: Option<StoreFault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Makes subsequent calls fail as if the store were unreachable, or work again.
    pub fn set_away(&self, is_away: bool) {
        self.set(is_away.then_some(StoreFault::Failing(StoreErrorKind::Unavailable)));
    }

    /// The number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn unless_faulty<T: Send + 'static>(&self, call: impl FnOnce(&dyn Store) -> StoreTask<T>) -> StoreTask<T> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => call(&*self.store),
            Some(StoreFault::Silent) => Box::pin(pending()),
            Some(StoreFault::Failing(kind)) => Box::pin(ready(Err(StoreError::new(kind, "test:", "it has a fault")))),
        }
    }
}

impl Store for FaultyStore {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        self.unless_faulty(|store| store.get(key))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        self.unless_faulty(|store| store.put(key, text, keep_for))
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        self.unless_faulty(|store| store.put_if(key, expected, text, keep_for))
    }

    fn remove(&self, key: &str) -> StoreTask {
        self.unless_faulty(|store| store.remove(key))
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        self.unless_faulty(|store| store.append(log, entry, max_entries, keep_for))
    }

    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
        self.unless_faulty(|store| store.read(log, after, limit, wait))
    }
}

//! Log reads that wait for entries.

use super::{LogEntry, StoreError, StoreTask};
use crate::{engine::later, race, runtime::Runtime, sync::Mutex};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

/// Reads a log. May wait for entries up to the given time, or less, or not at all.
type Look = Box<dyn Fn(Duration) -> StoreTask<Vec<LogEntry>> + Send + Sync>;

/// Reads of this process that are waiting for entries, by log.
pub(crate) struct Waiting {
    runtime: Arc<dyn Runtime>,
    /// How often reads poll for entries that this process is not notified of.
    pace: Duration,
    by_log: Mutex<HashMap<String, WaitedLog>>,
}

/// A log with waiting reads. Removed with the last of them.
#[derive(Default)]
struct WaitedLog {
    /// By read. A read that is not currently waiting has no waker.
    reads: HashMap<u64, Option<Waker>>,
    /// The number of the latest read.
    latest: u64,
    /// Incremented for each new entry that this process learns of.
    changes: u64,
}

impl Waiting {
    pub(crate) fn new(runtime: Arc<dyn Runtime>, pace: Duration) -> Arc<Self> {
        Arc::new(Self { runtime, pace, by_log: Mutex::default() })
    }

    /// Wakes the reads of a log that has new entries.
    pub(crate) fn wake(&self, log: &str) {
        let wakers = self.by_log.lock().get_mut(log).map(WaitedLog::change);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Wakes all reads, because it is unknown which logs have new entries.
    #[cfg(feature = "store-redis")]
    pub(crate) fn wake_all(&self) {
        let wakers: Vec<_> = self.by_log.lock().values_mut().flat_map(WaitedLog::change).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reads until there are entries or `wait` is over.
    pub(crate) async fn read(
        self: Arc<Self>,
        log: String,
        look: Look,
        wait: Duration,
    ) -> Result<Vec<LogEntry>, StoreError> {
        if wait.is_zero() {
            return look(wait).await;
        }
        let (runtime, pace) = (Arc::clone(&self.runtime), self.pace);
        let deadline = later(runtime.now(), wait);
        // From here on, an entry is either read or wakes us.
        let reader = WaitingRead::begin(self, log);
        loop {
            let seen = reader.changes();
            let entries = look(deadline.saturating_duration_since(runtime.now())).await?;
            if !entries.is_empty() || runtime.now() >= deadline {
                return Ok(entries);
            }
            let next = later(runtime.now(), pace).min(deadline);
            race::until(&*runtime, next, reader.changed(seen)).await;
        }
    }
}

impl WaitedLog {
    fn change(&mut self) -> Vec<Waker> {
        self.changes += 1;
        self.reads.values_mut().filter_map(Option::take).collect()
    }
}

/// A waiting read, until it is dropped.
struct WaitingRead {
    waiting: Arc<Waiting>,
    log: String,
    number: u64,
}

impl WaitingRead {
    fn begin(waiting: Arc<Waiting>, log: String) -> Self {
        let number = {
            let mut logs = waiting.by_log.lock();
            let waited = logs.entry(log.clone()).or_default();
            waited.latest += 1;
            waited.reads.insert(waited.latest, None);
            waited.latest
        };
        Self { waiting, log, number }
    }

    fn changes(&self) -> u64 {
        self.waiting.by_log.lock().get(&self.log).map_or(0, |log| log.changes)
    }

    async fn changed(&self, seen: u64) {
        poll_fn(|context| {
            let mut logs = self.waiting.by_log.lock();
            match logs.get_mut(&self.log) {
                Some(log) if log.changes == seen => {
                    log.reads.insert(self.number, Some(context.waker().clone()));
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
        .await;
    }
}

impl Drop for WaitingRead {
    fn drop(&mut self) {
        let mut logs = self.waiting.by_log.lock();
        let Some(log) = logs.get_mut(&self.log) else { return };
        log.reads.remove(&self.number);
        if log.reads.is_empty() {
            logs.remove(&self.log);
        }
    }
}

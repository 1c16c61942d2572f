//! Reads of logs that wait.

use super::{LogEntry, StoreError};
use crate::{
    engine::later,
    race,
    runtime::{BoxedTask, Runtime},
    sync::Mutex,
};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};

/// Reads a log. It may wait for entries so long, and may as well wait less or not at all.
type Look = Box<dyn Fn(Duration) -> BoxedTask<Result<Vec<LogEntry>, StoreError>> + Send + Sync>;

/// The reads of one process that wait for entries, by log.
#[derive(Default)]
pub(crate) struct Waiting {
    by_log: Mutex<HashMap<String, WaitedLog>>,
}

/// One that is waited for; the last read that leaves removes it.
#[derive(Default)]
struct WaitedLog {
    /// By read; one that is not waiting just now has no waker.
    reads: HashMap<u64, Option<Waker>>,
    /// Rises with each read, to number them.
    latest: u64,
    /// Rises with each entry that is known of.
    changes: u64,
}

impl Waiting {
    /// Entries of this log are there.
    pub(crate) fn wake(&self, log: &str) {
        let wakers = self.by_log.lock().get_mut(log).map(WaitedLog::change);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Nobody knows of which logs there are entries.
    #[cfg(feature = "store-redis")]
    pub(crate) fn wake_all(&self) {
        let wakers: Vec<_> = self.by_log.lock().values_mut().flat_map(WaitedLog::change).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reads until there are entries or the time is over. Entries of which this process is not
    /// told are found by looking again after each `pace`.
    pub(crate) async fn read(
        self: Arc<Self>,
        runtime: Arc<dyn Runtime>,
        log: String,
        look: Look,
        wait: Duration,
        pace: Duration,
    ) -> Result<Vec<LogEntry>, StoreError> {
        if wait.is_zero() {
            return look(wait).await;
        }
        let deadline = later(runtime.now(), wait);
        // From here on no entry is missed: it is read, or wakes.
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

/// A read that waits, until it is dropped.
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

//! Log reads that wait for entries.

use super::{LogEntry, StoreError, StoreTask};
use crate::{
    engine::later,
    on_drop::OnDrop,
    race,
    runtime::{Promise, Runtime},
    sync::Mutex,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// Reads a log. May wait for entries up to the given time, or less, or not at all.
type Look = Box<dyn Fn(Duration) -> StoreTask<Vec<LogEntry>> + Send + Sync>;

/// Reads of this process that are waiting for entries, by log.
pub(crate) struct Waiting {
    runtime: Arc<dyn Runtime>,
    /// How often reads poll for entries that this process is not notified of.
    pace: Duration,
    /// For each read, a promise that is kept when this process learns of a new entry. A log is
    /// removed with its last read.
    by_log: Mutex<HashMap<String, Vec<Arc<Promise<()>>>>>,
}

impl Waiting {
    pub(crate) fn new(runtime: Arc<dyn Runtime>, pace: Duration) -> Arc<Self> {
        Arc::new(Self { runtime, pace, by_log: Mutex::default() })
    }

    /// Wakes the reads of a log that has new entries.
    pub(crate) fn wake(&self, log: &str) {
        let reads = self.by_log.lock().get(log).cloned();
        reads.into_iter().flatten().for_each(|read| read.keep(()));
    }

    /// Wakes all reads, because it is unknown which logs have new entries.
    #[cfg(feature = "store-redis")]
    pub(crate) fn wake_all(&self) {
        let reads: Vec<_> = self.by_log.lock().values().flatten().cloned().collect();
        reads.into_iter().for_each(|read| read.keep(()));
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
        let runtime = &*self.runtime;
        let deadline = later(runtime.now(), wait);
        // From here on, an entry is either read or wakes us.
        let changed = Arc::<Promise<()>>::default();
        self.by_log.lock().entry(log.clone()).or_default().push(Arc::clone(&changed));
        let _end = OnDrop::new(|| self.end(&log, &changed));
        loop {
            let entries = look(deadline.saturating_duration_since(runtime.now())).await?;
            if !entries.is_empty() || runtime.now() >= deadline {
                return Ok(entries);
            }
            let next = later(runtime.now(), self.pace).min(deadline);
            race::until(runtime, next, changed.kept()).await;
        }
    }

    fn end(&self, log: &str, read: &Arc<Promise<()>>) {
        let mut logs = self.by_log.lock();
        let Some(reads) = logs.get_mut(log) else { return };
        reads.retain(|other| !Arc::ptr_eq(other, read));
        if reads.is_empty() {
            logs.remove(log);
        }
    }
}

//! An in-memory store.

use super::{LogEntry, Store, StoreError, StoreErrorKind, StoreTask, Waiting};
use crate::{engine::later, runtime::Runtime, sync::Mutex};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    future::ready,
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

/// Default capacity.
const MAX_BYTES: usize = 256 << 20;
/// Counted in addition to the key and value, in bytes.
const ENTRY_OVERHEAD: usize = 64;
/// Hardly ever needed: only this process appends to the logs, so a reader is always woken.
const POLL_INTERVAL: Duration = Duration::from_secs(3600);

/// A bounded in-memory store, for a server that runs as a single process and for tests.
#[derive(Clone)]
pub struct ProcessStore {
    runtime: Arc<dyn Runtime>,
    kept: Arc<Mutex<Kept>>,
    waiting: Arc<Waiting>,
}

struct Kept {
    by_key: HashMap<String, KeptItem>,
    ends: BTreeSet<(Instant, String)>,
    /// The position of the latest entry of any log.
    position: u64,
    bytes: usize,
    max_bytes: usize,
    /// The entries of each group, if the store evicts entries when it is full.
    groups: Option<HashMap<String, EntryGroup>>,
}

/// Entries whose keys are equal up to the last slash.
#[derive(Default)]
struct EntryGroup {
    bytes: usize,
    ends: BTreeSet<(Instant, String)>,
}

struct KeptItem {
    value: KeptValue,
    bytes: usize,
    ends: Instant,
}

enum KeptValue {
    Text(String),
    Log(VecDeque<LogEntry>),
}

impl ProcessStore {
    /// Creates an empty store.
    pub fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self::with_capacity(runtime, MAX_BYTES)
    }

    /// Creates an empty store with a capacity in bytes. Writes beyond it fail as full.
    pub fn with_capacity(runtime: Arc<dyn Runtime>, max_bytes: usize) -> Self {
        Self::new_with(runtime, max_bytes, None)
    }

    /// Creates a store that evicts entries when it is full: those of the largest group that would
    /// expire first. A group is all keys that are equal up to the last slash.
    pub(crate) fn evicting(runtime: Arc<dyn Runtime>, max_bytes: usize) -> Self {
        Self::new_with(runtime, max_bytes, Some(HashMap::new()))
    }

    fn new_with(runtime: Arc<dyn Runtime>, max_bytes: usize, groups: Option<HashMap<String, EntryGroup>>) -> Self {
        let (by_key, ends) = (HashMap::new(), BTreeSet::new());
        let kept = Kept { by_key, ends, position: 0, bytes: 0, max_bytes, groups };
        let waiting = Waiting::new(Arc::clone(&runtime), POLL_INTERVAL);
        Self { runtime, kept: Arc::new(Mutex::new(kept)), waiting }
    }

    /// Locks the items and removes expired ones. Returns the current time with the lock.
    fn kept(&self) -> (Instant, MutexGuard<'_, Kept>) {
        let mut kept = self.kept.lock();
        let now = self.runtime.now();
        kept.forget_old(now);
        (now, kept)
    }

    /// All keys.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Vec<String> {
        self.kept.lock().by_key.keys().cloned().collect()
    }
}

impl Store for ProcessStore {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        Box::pin(ready(self.kept().1.text(key).map(|text| text.map(str::to_owned))))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        let (now, mut kept) = self.kept();
        Box::pin(ready(kept.put(key, text, later(now, keep_for))))
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        let (now, mut kept) = self.kept();
        let is_expected = kept.text(key).map(|current| current == expected);
        Box::pin(ready(match is_expected {
            Ok(true) => kept.put(key, text, later(now, keep_for)).map(|()| true),
            other => other,
        }))
    }

    fn remove(&self, key: &str) -> StoreTask {
        self.kept.lock().remove(key);
        Box::pin(ready(Ok(())))
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        let (now, mut kept) = self.kept();
        let position = kept.append(log, entry, max_entries, later(now, keep_for));
        drop(kept);
        self.waiting.wake(log);
        Box::pin(ready(position))
    }

    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
        let (this, name) = (self.clone(), log.to_owned());
        let look = Box::new(move |_| -> StoreTask<_> { Box::pin(ready(this.kept().1.read(&name, after, limit))) });
        Box::pin(Arc::clone(&self.waiting).read(log.to_owned(), look, wait))
    }
}

impl Kept {
    fn forget_old(&mut self, now: Instant) {
        while let Some((_, key)) = self.ends.first().filter(|(end, _)| *end <= now).cloned() {
            self.remove(&key);
        }
    }

    fn text(&self, key: &str) -> Result<Option<&str>, StoreError> {
        match self.by_key.get(key).map(|item| &item.value) {
            None => Ok(None),
            Some(KeptValue::Text(text)) => Ok(Some(text)),
            Some(KeptValue::Log(_)) => Err(invalid(format!("the key {key} names a log"))),
        }
    }

    fn put(&mut self, key: &str, text: &str, ends: Instant) -> Result<(), StoreError> {
        let bytes = ENTRY_OVERHEAD + 2 * key.len() + text.len();
        let replaced = self.remove(key);
        if let Err(error) = self.check_room(bytes) {
            if let Some(item) = replaced {
                self.insert(key, item);
            }
            return Err(error);
        }
        self.insert(key, KeptItem { value: KeptValue::Text(text.to_owned()), bytes, ends });
        Ok(())
    }

    fn append(&mut self, log: &str, entry: &str, max_entries: usize, ends: Instant) -> Result<u64, StoreError> {
        let bytes = ENTRY_OVERHEAD + entry.len();
        self.check_room(bytes + 2 * log.len())?;
        let mut item = match self.by_key.get(log).map(|item| &item.value) {
            Some(KeptValue::Text(_)) => return Err(invalid(format!("the key {log} names an entry, not a log"))),
            _ => self.remove(log).unwrap_or_else(|| KeptItem {
                value: KeptValue::Log(VecDeque::new()),
                bytes: ENTRY_OVERHEAD + 2 * log.len(),
                ends,
            }),
        };
        let position = self.position + 1;
        self.position = position;
        if let KeptValue::Log(entries) = &mut item.value {
            entries.push_back(LogEntry { position, text: entry.to_owned() });
            item.bytes += bytes;
            while entries.len() > max_entries.max(1) {
                item.bytes -= entries.pop_front().map_or(0, |evicted| ENTRY_OVERHEAD + evicted.text.len());
            }
        }
        item.ends = ends;
        self.insert(log, item);
        Ok(position)
    }

    fn read(&self, log: &str, after: u64, limit: usize) -> Result<Vec<LogEntry>, StoreError> {
        match self.by_key.get(log).map(|item| &item.value) {
            None => Ok(Vec::new()),
            Some(KeptValue::Text(_)) => Err(invalid(format!("the key {log} names an entry, not a log"))),
            Some(KeptValue::Log(entries)) => {
                let begin = entries.partition_point(|entry| entry.position <= after);
                Ok(entries.range(begin..).take(limit).cloned().collect())
            }
        }
    }

    /// Evicts an entry. Returns `None` if there is none or eviction is off.
    fn evict(&mut self) -> Option<KeptItem> {
        let largest = self.groups.as_ref()?.values().max_by_key(|group| group.bytes)?;
        let (_, key) = largest.ends.first().cloned()?;
        self.remove(&key)
    }

    fn check_room(&mut self, bytes: usize) -> Result<(), StoreError> {
        while bytes <= self.max_bytes && self.bytes + bytes > self.max_bytes && self.evict().is_some() {}
        if self.bytes + bytes <= self.max_bytes {
            return Ok(());
        }
        let problem = format!("it holds {} of {} bytes and has no space for {bytes} more", self.bytes, self.max_bytes);
        Err(StoreError::new(StoreErrorKind::Full, NAME, problem))
    }

    fn insert(&mut self, key: &str, item: KeptItem) {
        self.bytes += item.bytes;
        self.ends.insert((item.ends, key.to_owned()));
        if let Some(groups) = &mut self.groups {
            let group = groups.entry(group_of(key).to_owned()).or_default();
            group.bytes += item.bytes;
            group.ends.insert((item.ends, key.to_owned()));
        }
        self.by_key.insert(key.to_owned(), item);
    }

    fn remove(&mut self, key: &str) -> Option<KeptItem> {
        let item = self.by_key.remove(key)?;
        let end = (item.ends, key.to_owned());
        self.bytes -= item.bytes;
        self.ends.remove(&end);
        if let Some(groups) = &mut self.groups
            && let Some(group) = groups.get_mut(group_of(key))
        {
            group.bytes -= item.bytes;
            group.ends.remove(&end);
            if group.ends.is_empty() {
                groups.remove(group_of(key));
            }
        }
        Some(item)
    }
}

fn group_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(group, _)| group)
}

const NAME: &str = "memory:";

fn invalid(problem: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, NAME, problem)
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use crate::{tests::driver_contract, transport::TokioRuntime};

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_memory_of_the_process_keeps_the_contract() {
        let store = ProcessStore::new(TokioRuntime::current());
        driver_contract::check(Arc::new(store.clone()), Arc::new(store)).await;
    }

    #[tokio::test]
    async fn writes_beyond_the_capacity_fail_until_entries_expire() {
        let store = ProcessStore::with_capacity(TokioRuntime::current(), 10_000);
        let large = "x".repeat(4000);
        store.put("a", &large, MINUTE).await.unwrap();
        // Longer than the refusals take on a busy machine.
        let brief = Duration::from_millis(500);
        store.put("b", &large, brief).await.unwrap();
        for _ in 0..3 {
            assert_eq!(store.put("c", &large, MINUTE).await.unwrap_err().kind, StoreErrorKind::Full);
            assert_eq!(store.append("l", &large, 9, MINUTE).await.unwrap_err().kind, StoreErrorKind::Full);
        }
        store.put("a", &large, MINUTE).await.unwrap();
        tokio::time::sleep(brief + Duration::from_millis(10)).await;
        for _ in 0..9 {
            store.append("l", &"y".repeat(1000), 2, MINUTE).await.unwrap();
        }
        for key in ["a", "l"] {
            store.remove(key).await.unwrap();
        }
        let kept = store.kept.lock();
        assert_eq!((kept.bytes, kept.ends.len(), kept.by_key.len()), (0, 0, 0));
    }
}

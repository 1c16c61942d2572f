// A custom store: maps here, a database in production.
use std::{
    collections::HashMap,
    future::ready,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use trunkline::{
    Server, ServerOptions,
    runtime::BoxedTask,
    store::{LogEntry, Store, StoreChoice, StoreError},
    testing::check_store,
};

#[derive(Default)]
struct MapStore(Mutex<Kept>);

/// Maps each key to its expiry and its value or log entries.
#[derive(Default)]
struct Kept {
    texts: HashMap<String, (Instant, String)>,
    logs: HashMap<String, (Instant, Vec<LogEntry>)>,
    position: u64,
}

impl Kept {
    fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).filter(|(ends, _)| *ends > Instant::now()).map(|(_, text)| &**text)
    }

    fn put(&mut self, key: &str, text: &str, keep_for: Duration) {
        self.texts.insert(key.to_owned(), (end(keep_for), text.to_owned()));
    }

    fn entries(&self, log: &str) -> Vec<LogEntry> {
        let kept = self.logs.get(log).filter(|(ends, _)| *ends > Instant::now());
        kept.map(|(_, entries)| entries.clone()).unwrap_or_default()
    }
}

/// Capped at a century, which every clock can represent.
fn end(keep_for: Duration) -> Instant {
    Instant::now() + keep_for.min(Duration::from_secs(100 * 365 * 24 * 3600))
}

impl MapStore {
    /// With a database, return a future that queries it.
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Kept) -> T) -> BoxedTask<Result<T, StoreError>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(ready(Ok(work(&mut kept))))
    }
}

impl Store for MapStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, StoreError>> {
        self.with(|kept| kept.text(key).map(str::to_owned))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> BoxedTask<Result<(), StoreError>> {
        self.with(|kept| kept.put(key, text, keep_for))
    }

    fn put_if(
        &self,
        key: &str,
        expected: Option<&str>,
        text: &str,
        keep_for: Duration,
    ) -> BoxedTask<Result<bool, StoreError>> {
        self.with(|kept| {
            let is_expected = kept.text(key) == expected;
            if is_expected {
                kept.put(key, text, keep_for);
            }
            is_expected
        })
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), StoreError>> {
        self.with(|kept| {
            kept.texts.remove(key);
            kept.logs.remove(key);
        })
    }

    fn append(
        &self,
        log: &str,
        entry: &str,
        max_entries: usize,
        keep_for: Duration,
    ) -> BoxedTask<Result<u64, StoreError>> {
        self.with(|kept| {
            kept.position += 1;
            let mut entries = kept.entries(log);
            entries.push(LogEntry { position: kept.position, text: entry.to_owned() });
            entries.drain(..entries.len().saturating_sub(max_entries));
            kept.logs.insert(log.to_owned(), (end(keep_for), entries));
            kept.position
        })
    }

    /// A read need not wait for entries.
    fn read(&self, log: &str, after: u64, limit: usize, _: Duration) -> BoxedTask<Result<Vec<LogEntry>, StoreError>> {
        self.with(|kept| kept.entries(log).into_iter().filter(|entry| entry.position > after).take(limit).collect())
    }
}

#[tokio::main]
async fn main() {
    let store = Arc::new(MapStore::default());
    let options = ServerOptions::default().with_store(StoreChoice::custom(store));
    let _server = Server::builder("reports", "1.0.0").options(options).build();

    let store = Arc::new(MapStore::default());
    let findings = check_store(store.clone(), store).await;
    println!("{}", if findings.is_empty() { "The store keeps its contract.".into() } else { findings.join("\n") });
}

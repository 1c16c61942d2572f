//! Entries on their way to logs of the store, in their order.

use crate::{
    engine::later,
    runtime::Runtime,
    store::{Store, StoreErrorKind, StoreGuard},
    sync::Mutex,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// Most entries that wait, and their most bytes.
const MAX_WAITING: usize = 10_000;
const MAX_BYTES: usize = 32 << 20;
/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_millis(100);

/// The entries that wait. While the store is away they wait for it; beyond the bounds the oldest
/// are lost.
pub(super) struct Outbox {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    waiting: Mutex<WaitingEntries>,
}

#[derive(Default)]
struct WaitingEntries {
    entries: VecDeque<Arc<OutboxEntry>>,
    bytes: usize,
    is_sending: bool,
    lost: u64,
}

/// An entry on its way.
pub(super) struct OutboxEntry {
    /// The key of the log.
    pub(super) log: String,
    /// The entry.
    pub(super) text: String,
    /// The bounds of the log.
    pub(super) max_entries: usize,
    pub(super) keep_for: Duration,
}

impl Outbox {
    pub(super) fn new(store: StoreGuard, runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { store, runtime, waiting: Mutex::default() })
    }

    /// Appends an entry soon.
    pub(super) fn push(self: &Arc<Self>, entry: OutboxEntry) {
        if self.enter(entry) {
            self.runtime.spawn(Box::pin(Arc::clone(self).send_all()));
        }
    }

    /// Enters an entry; `true`: nobody sends the entries yet.
    fn enter(&self, entry: OutboxEntry) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.bytes += entry.text.len();
        waiting.entries.push_back(Arc::new(entry));
        while waiting.entries.len() > 1 && (waiting.entries.len() > MAX_WAITING || waiting.bytes > MAX_BYTES) {
            waiting.pop();
            if waiting.lost == 0 {
                tracing::error!(target: "trunkline::store", "the store {} takes too long: messages for other processes are lost", self.store.name());
            }
            waiting.lost += 1;
        }
        !std::mem::replace(&mut waiting.is_sending, true)
    }

    async fn send_all(self: Arc<Self>) {
        loop {
            let first = {
                let mut waiting = self.waiting.lock();
                waiting.is_sending = !waiting.entries.is_empty();
                waiting.entries.front().cloned()
            };
            let Some(entry) = first else { return };
            let appended = self.store.append(&entry.log, &entry.text, entry.max_entries, entry.keep_for).await;
            match appended {
                Err(error) if matches!(error.kind, StoreErrorKind::Unavailable | StoreErrorKind::Full) => {
                    self.runtime.sleep_until(later(self.runtime.now(), PAUSE)).await;
                    continue;
                }
                Err(error) => tracing::error!(target: "trunkline::store", "{error}"),
                Ok(_) => {}
            }
            let mut waiting = self.waiting.lock();
            // The bound may have taken it away meanwhile.
            if waiting.entries.front().is_some_and(|front| Arc::ptr_eq(front, &entry)) {
                waiting.pop();
            }
        }
    }
}

impl WaitingEntries {
    fn pop(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= entry.text.len();
        }
    }
}

//! Limits how many bodies are read concurrently. Their bytes count at the gate, but a stalled body
//! has few bytes and must not keep others out.

use crate::{on_drop::OnDrop, race, sync::Mutex};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::Notify;

pub(super) struct BodyReaders {
    table: Mutex<ReaderTable>,
    max: usize,
}

#[derive(Default)]
struct ReaderTable {
    /// Oldest first.
    reading: BTreeMap<u64, Arc<Notify>>,
    next: u64,
}

impl BodyReaders {
    pub(super) fn new(max: usize) -> Self {
        Self { table: Mutex::default(), max: max.max(1) }
    }

    /// Reads a body. Returns `None` if it is abandoned in favor of another.
    pub(super) async fn read<T>(&self, body: impl Future<Output = T>) -> Option<T> {
        let (number, gives_way) = self.enter();
        let _leave = OnDrop::new(|| drop(self.table.lock().reading.remove(&number)));
        race::unless(gives_way.notified(), body).await
    }

    /// Registers a body. Beyond the limit, the oldest is abandoned, because most arrive within
    /// milliseconds.
    fn enter(&self) -> (u64, Arc<Notify>) {
        let gives_way = Arc::<Notify>::default();
        let mut table = self.table.lock();
        if table.reading.len() >= self.max
            && let Some((_, oldest)) = table.reading.pop_first()
        {
            oldest.notify_one();
        }
        table.next += 1;
        let number = table.next;
        table.reading.insert(number, Arc::clone(&gives_way));
        (number, gives_way)
    }
}

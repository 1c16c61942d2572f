//! Limits how many bodies are read concurrently. Their bytes count at the gate, but a stalled body
//! has few bytes and must not keep others out.

use crate::sync::Mutex;
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

/// A body that is being read, until it is dropped.
pub(super) struct IncomingBody {
    readers: Arc<BodyReaders>,
    number: u64,
    gives_way: Arc<Notify>,
}

impl BodyReaders {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { table: Mutex::default(), max: max.max(1) })
    }

    /// Registers a body. Beyond the limit, the oldest is abandoned, because most arrive within
    /// milliseconds.
    pub(super) fn enter(self: &Arc<Self>) -> IncomingBody {
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
        IncomingBody { readers: Arc::clone(self), number, gives_way }
    }
}

impl IncomingBody {
    /// Completes when the body is abandoned in favor of another.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        self.readers.table.lock().reading.remove(&self.number);
    }
}

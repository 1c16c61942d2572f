//! A record in a store, written by one worker at a time.

use crate::{
    store::{Store, StoreError},
    sync::Mutex,
};
use std::{sync::Arc, time::Duration};

/// A record that this worker writes until another one takes it over.
pub(super) struct StoredRecord {
    store: Arc<dyn Store>,
    key: String,
    state: Mutex<RecordState>,
}

#[derive(Default)]
struct RecordState {
    /// The last value known to be in the store.
    written: Option<String>,
    is_writing: bool,
    /// The record changed during the write.
    has_changed: bool,
}

impl StoredRecord {
    /// `written` is the value in the store, if there is one.
    pub(super) fn new(store: Arc<dyn Store>, key: String, written: Option<String>) -> Self {
        Self { store, key, state: Mutex::new(RecordState { written, ..RecordState::default() }) }
    }

    /// Called when the record has changed. Returns `true` if the caller has to write it, `false` if
    /// another one is doing so.
    pub(super) fn begin_writing(&self) -> bool {
        let mut state = self.state.lock();
        state.has_changed = std::mem::replace(&mut state.is_writing, true);
        !state.has_changed
    }

    /// Called after a write. Returns `true` if the record has changed since it began.
    pub(super) fn continues_writing(&self) -> bool {
        let mut state = self.state.lock();
        state.is_writing = std::mem::take(&mut state.has_changed);
        state.is_writing
    }

    /// Writes a value. Returns `false` if another worker has taken over the record. `is_own` tells
    /// whether a value that was not expected is of this worker: of a write that was not confirmed,
    /// or of an earlier one, because the store lost the latest in a failover.
    pub(super) async fn write(
        &self,
        text: &str,
        keep_for: Duration,
        is_own: impl Fn(&str) -> bool,
    ) -> Result<bool, StoreError> {
        loop {
            let expected = self.state.lock().written.clone();
            if expected.as_deref() == Some(text) {
                return Ok(true);
            }
            if self.store.put_if(&self.key, expected.as_deref(), text, keep_for).await? {
                self.state.lock().written = Some(text.to_owned());
                return Ok(true);
            }
            let current = self.store.get(&self.key).await?;
            // If there is nothing, the record was evicted, or the store lost it in a restart.
            if current != expected && current.as_deref().is_some_and(|current| current != text && !is_own(current)) {
                return Ok(false);
            }
            self.state.lock().written = current;
        }
    }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use crate::{faulty_store::FaultyStore, server::tests::TestRuntime, store::ProcessStore};

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn an_own_value_is_not_taken_for_that_of_another_worker() {
        let kept = ProcessStore::new(Arc::new(TestRuntime));
        let faulty = FaultyStore::new(Arc::new(kept.clone()));
        let record = StoredRecord::new(faulty.clone(), "record".to_owned(), None);
        let write = async |text: &str| record.write(text, MINUTE, |current| current.starts_with("own")).await;
        assert!(write("own 1").await.unwrap());
        faulty.set_away(true);
        write("own 2").await.unwrap_err();
        // Only the confirmation was lost.
        kept.put("record", "own 2", MINUTE).await.unwrap();
        write("own 3").await.unwrap_err();
        faulty.set_away(false);
        assert!(write("own 3").await.unwrap());
        // The store goes back, and loses everything.
        kept.put("record", "own 1", MINUTE).await.unwrap();
        assert!(write("own 4").await.unwrap());
        kept.remove("record").await.unwrap();
        assert!(write("released").await.unwrap());
        assert_eq!(kept.get("record").await.unwrap().as_deref(), Some("released"));
        kept.put("record", "another's", MINUTE).await.unwrap();
        assert!(!write("own 5").await.unwrap());
        assert_eq!(kept.get("record").await.unwrap().as_deref(), Some("another's"));
    }
}

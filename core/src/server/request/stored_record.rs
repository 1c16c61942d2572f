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
    /// The value of a write with unknown outcome, which may be in the store.
    attempted: Option<String>,
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

    /// Writes a value. Returns `false` if another worker has taken over the record.
    pub(super) async fn write(&self, text: &str, keep_for: Duration) -> Result<bool, StoreError> {
        loop {
            let expected = self.state.lock().written.clone();
            if expected.as_deref() == Some(text) {
                return Ok(true);
            }
            match self.store.put_if(&self.key, expected.as_deref(), text, keep_for).await {
                Ok(true) => {
                    let mut state = self.state.lock();
                    (state.written, state.attempted) = (Some(text.to_owned()), None);
                    return Ok(true);
                }
                Ok(false) => {}
                Err(error) => {
                    self.state.lock().attempted = Some(text.to_owned());
                    return Err(error);
                }
            }
            let current = self.store.get(&self.key).await?;
            let mut state = self.state.lock();
            // If there is nothing, the record was evicted, or the store lost it in a restart.
            if current.is_some() && current != expected && current != state.attempted {
                return Ok(false);
            }
            state.written = current;
        }
    }
}

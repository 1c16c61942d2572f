//! Stores a task each time it changes, in the worker that runs it.

use super::{record::TaskRecord, stored::StoredTasks, task::Task};
use crate::{
    engine::later,
    store::{Store as _, StoreError},
    sync::Mutex,
};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

/// Delay before a failed write is retried.
const PAUSE: Duration = Duration::from_secs(1);

const IDLE: u8 = 0;
const WRITING: u8 = 1;
/// The task changed during the write.
const CHANGED: u8 = 2;

/// Keeps the stored record of a task up to date, with one write at a time.
pub(in crate::server) struct TaskRecording {
    stored: Arc<StoredTasks>,
    task: Weak<Task>,
    state: AtomicU8,
    /// The last value known to be in the store.
    written: Mutex<Option<String>>,
    /// The value of a write with unknown outcome, which may be in the store.
    attempted: Mutex<Option<String>>,
}

impl TaskRecording {
    pub(super) fn new(stored: Arc<StoredTasks>, task: &Arc<Task>) -> Arc<Self> {
        let written = task.run().and_then(|run| run.written.clone());
        Arc::new(Self {
            stored,
            task: Arc::downgrade(task),
            state: AtomicU8::new(IDLE),
            written: Mutex::new(written),
            attempted: Mutex::default(),
        })
    }

    /// Writes the task for the first time.
    ///
    /// # Errors
    /// Store errors. Then nobody could find the task.
    pub(super) async fn begin(&self) -> Result<(), StoreError> {
        match self.task.upgrade() {
            Some(task) => self.write(&task).await.map(drop),
            None => Ok(()),
        }
    }

    /// Called when the task has changed.
    pub(super) fn changed(self: &Arc<Self>) {
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            Some(if state == IDLE { WRITING } else { CHANGED })
        });
        if before != Ok(IDLE) {
            return;
        }
        // Keep the task alive until it is stored, even if its server is dropped.
        let Some(task) = self.task.upgrade() else { return };
        let this = Arc::clone(self);
        self.stored.runtime().spawn(Box::pin(async move { this.bring_up_to_date(task).await }));
    }

    async fn bring_up_to_date(&self, task: Arc<Task>) {
        let runtime = self.stored.runtime();
        loop {
            match self.write(&task).await {
                Ok(true) => {}
                // This worker was presumed dead. What other workers have reported remains true.
                Ok(false) => return self.stored.let_go(&task),
                Err(error) if runtime.unix_time() < task.ends() => {
                    tracing::debug!(target: "trunkline::server", "the task {} could not be written yet: {error}", task.id());
                    runtime.sleep_until(later(runtime.now(), PAUSE)).await;
                    continue;
                }
                // The task has expired, so other workers no longer find it.
                Err(_) => {
                    self.state.store(IDLE, Ordering::Release);
                    return task.announce_end();
                }
            }
            if self.state.compare_exchange(WRITING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
            self.state.store(WRITING, Ordering::Release);
        }
    }

    /// Stores the task, then reports its end. Returns `false` if another worker has ended it.
    async fn write(&self, task: &Arc<Task>) -> Result<bool, StoreError> {
        if task.is_handed_over() {
            return Ok(true);
        }
        let record = TaskRecord::of(task, self.stored.worker());
        let is_written = self.put(task, record.text()).await?;
        if is_written && record.status().is_final() {
            task.announce_end();
        }
        Ok(is_written)
    }

    async fn put(&self, task: &Task, text: String) -> Result<bool, StoreError> {
        let (store, key) = (self.stored.store(), super::stored::key(task.id()));
        if self.written.lock().as_deref() == Some(&text) {
            return Ok(true);
        }
        let left = task.ends().saturating_sub(self.stored.runtime().unix_time());
        loop {
            let expected = self.written.lock().clone();
            let put = store.put_if(&key, expected.as_deref(), &text, left).await;
            match put {
                Ok(true) => {
                    *self.written.lock() = Some(text);
                    *self.attempted.lock() = None;
                    return Ok(true);
                }
                Ok(false) => {}
                Err(error) => {
                    *self.attempted.lock() = Some(text);
                    return Err(error);
                }
            }
            let current = store.get(&key).await?;
            // If there is nothing, the store lost its entries, for example in a restart.
            if current.is_some() && current != expected && current != *self.attempted.lock() {
                return Ok(false);
            }
            *self.written.lock() = current;
        }
    }
}

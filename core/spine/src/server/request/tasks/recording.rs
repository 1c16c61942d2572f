//! Stores a task each time it changes, in the worker that runs it.

use super::{
    record::TaskRecord,
    server_task::Task,
    stored::{StoredTasks, key},
};
use crate::{engine::later, server::request::stored_record::StoredRecord, store::StoreError};
use std::{sync::Arc, time::Duration};

/// The wait after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Keeps the stored record of a task up to date, with one write at a time.
pub(in crate::server) struct TaskRecording {
    stored: Arc<StoredTasks>,
    record: StoredRecord,
}

impl TaskRecording {
    pub(super) fn new(stored: Arc<StoredTasks>, task: &Arc<Task>) -> Arc<Self> {
        let written = task.facts.run.as_ref().and_then(|run| run.written.clone());
        let record = StoredRecord::new(Arc::new(stored.store.clone()), key(task.id()), written);
        Arc::new(Self { stored, record })
    }

    /// Called when the task has changed.
    pub(super) fn changed(self: &Arc<Self>, task: &Arc<Task>) {
        if self.record.begin_writing() {
            // Keeps the task alive until it is stored, even if its server is dropped.
            let (this, task) = (Arc::clone(self), Arc::clone(task));
            self.stored.runtime.spawn(Box::pin(async move { this.bring_up_to_date(&task).await }));
        }
    }

    async fn bring_up_to_date(&self, task: &Arc<Task>) {
        let runtime = &self.stored.runtime;
        loop {
            match self.write(task).await {
                Ok(true) => {}
                // This worker was presumed dead. What other workers have reported remains true.
                Ok(false) => return self.stored.let_go(task),
                Err(error) if runtime.unix_time() < task.facts.ends() => {
                    tracing::debug!(target: "trunkline::server", "the task {} could not be written yet: {error}", task.id());
                    runtime.sleep_until(later(runtime.now(), RETRY_DELAY)).await;
                    continue;
                }
                // The task has expired, so other workers no longer find it.
                Err(_) => task.announce_end(),
            }
            if !self.record.continues_writing() {
                return;
            }
        }
    }

    /// Stores the task, then reports its end. Returns `false` if another worker has ended it.
    ///
    /// # Errors
    /// Store errors. After the first write of a task, nobody could then find it.
    pub(super) async fn write(&self, task: &Arc<Task>) -> Result<bool, StoreError> {
        if task.is_handed_over() {
            return Ok(true);
        }
        let record = TaskRecord::of(task, &self.stored.worker);
        let left = record.left(self.stored.runtime.unix_time());
        let is_own = |current: &str| record.continues(current);
        let is_written = self.record.write(&record.text(), left, is_own).await?;
        if is_written && record.is_final() {
            self.stored.remove_request(task).await;
            task.announce_end();
        }
        Ok(is_written)
    }
}

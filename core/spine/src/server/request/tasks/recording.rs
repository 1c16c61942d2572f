//! Stores a task each time it changes, in the worker that runs it.

use super::{
    record::TaskRecord,
    restart::TaskRequest,
    server_task::Task,
    stored::{RENEWAL_INTERVAL, StoredTasks, key, list_of, unavailable},
};
use crate::{
    engine::later,
    protocol::RpcError,
    server::{request::stored_record::StoredRecord, server_options::ServerOptions},
    store::{Store, StoreError},
};
use std::{sync::Arc, time::Duration};

/// The wait after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl StoredTasks {
    /// Stores a new task before anyone knows its id (TKX-08), and then each time it changes.
    /// `request` is what a restart needs.
    pub(super) async fn add(
        self: &Arc<Self>,
        task: &Arc<Task>,
        request: Option<TaskRequest>,
        options: &ServerOptions,
    ) -> Result<(), RpcError> {
        let recording = TaskRecording::new(Arc::clone(self), task);
        let is_new = task.facts.run.as_ref().is_none_or(|run| run.written.is_none());
        self.renew().await.map_err(unavailable)?;
        if let Some(request) = &request {
            self.keep_request(task, request).await.map_err(unavailable)?;
        }
        let written = async {
            recording.write(task).await?;
            if request.is_some() {
                self.list_for_restart(task, options.task_ttl).await?;
            }
            if let (true, Some(list)) = (is_new, list_of(&task.facts.owner)) {
                // Keep the list as long as any task in it.
                let (most, keep_for) = (options.max_tasks_per_client, options.task_ttl);
                self.store.append(&list, task.id(), most, keep_for).await?;
            }
            Ok(())
        };
        if let Err(error) = written.await {
            if is_new {
                self.discard(task);
            }
            return Err(unavailable(error));
        }
        task.on_change(Box::new(move |task| recording.changed(task)));
        Ok(())
    }

    /// Removes a task that may have been stored although that failed. Its client got an error, so
    /// nobody may list it or run it again.
    fn discard(self: &Arc<Self>, task: &Arc<Task>) {
        let (this, task) = (Arc::clone(self), Arc::clone(task));
        self.runtime.spawn(Box::pin(async move {
            while this.store.remove(&key(task.id())).await.is_err() && this.runtime.unix_time() < task.facts.ends() {
                this.runtime.sleep_until(later(this.runtime.now(), RENEWAL_INTERVAL)).await;
            }
            this.remove_request(&task).await;
        }));
    }
}

/// Keeps the stored record of a task up to date, with one write at a time.
struct TaskRecording {
    stored: Arc<StoredTasks>,
    record: StoredRecord,
}

impl TaskRecording {
    fn new(stored: Arc<StoredTasks>, task: &Arc<Task>) -> Arc<Self> {
        let written = task.facts.run.as_ref().and_then(|run| run.written.clone());
        let record = StoredRecord::new(Arc::new(stored.store.clone()), key(task.id()), written);
        Arc::new(Self { stored, record })
    }

    /// Called when the task has changed.
    fn changed(self: &Arc<Self>, task: &Arc<Task>) {
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
    async fn write(&self, task: &Arc<Task>) -> Result<bool, StoreError> {
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

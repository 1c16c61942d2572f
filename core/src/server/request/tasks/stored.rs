//! The tasks of a server in its store, which other workers can answer for.

use super::{
    record::TaskRecord,
    recording::TaskRecording,
    restart::{self, TaskRequest},
    task::{Task, TaskOwner},
    task_table::Tasks,
};
use crate::{
    engine::later,
    protocol::RpcError,
    race, random,
    runtime::{BoxedTask, Runtime},
    server::{options::ServerOptions, session::ConversationOpener},
    store::{Store, StoreError, StoreGuard},
    timestamp::iso_8601,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// A worker that does not renew its lease for so long is gone.
const LEASE: Duration = Duration::from_secs(20);
const RENEWAL: Duration = Duration::from_secs(5);
/// Messages to a worker that it has not read.
const MAX_MESSAGES: usize = 10_000;
/// Time that a message to a worker is kept.
const MESSAGE_TIME: Duration = Duration::from_secs(3600);
/// Longest wait for messages at a time.
const WAIT: Duration = Duration::from_secs(10);
/// Messages that are read at a time.
const BATCH: usize = 100;
/// Pause between two looks at a task that another worker runs.
const LOOK: Duration = Duration::from_millis(500);
/// Longest time of a worker to take a message, and of a store to take the end of a task.
pub(super) const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// The tasks in the store of a server, and the messages between its workers.
pub(in crate::server) struct StoredTasks {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    /// The id of this process, for this server.
    worker: String,
    /// The tasks that run here.
    local: Weak<Tasks>,
    /// Begins the conversations in which tasks are run again.
    opener: ConversationOpener,
}

/// A message to the worker that runs a task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TaskMessage {
    Cancel { task: String },
    Update { task: String, responses: Map<String, Value> },
}

/// The key of a task. Ids are those of this library: what a client names is checked before.
pub(super) fn key(id: &str) -> String {
    format!("task/{id}")
}

fn lease(worker: &str) -> String {
    format!("worker/{worker}/lease")
}

fn inbox(worker: &str) -> String {
    format!("worker/{worker}/tasks")
}

/// The ids of a principal's tasks.
fn list(principal: &str) -> String {
    format!("tasks-of/{}", principal_key(principal))
}

/// A principal as a part of a key. Issuers choose principals, which may have any length and any
/// characters.
pub(in crate::server::request) fn principal_key(principal: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(principal))
}

#[cfg(test)]
#[test]
fn the_list_of_a_principal_has_its_digest_as_its_key() {
    let (one, other) = (list("https://login.example.com ada"), list("https://login.example.com bob"));
    assert_eq!(one, "tasks-of/Xo8s7ZDmCKu5Zo1aarHA2a0btfqTHKi9nXOmOTQQKTA");
    assert_ne!(one, other);
    assert_eq!(other.len(), one.len(), "no principal is too long");
}

fn is_id(text: &str) -> bool {
    text.len() == 22 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl StoredTasks {
    /// Begins to renew the lease of this worker, and to read its messages. `None`: the system gives
    /// no random id.
    pub(in crate::server) fn start(
        store: StoreGuard,
        runtime: Arc<dyn Runtime>,
        local: &Arc<Tasks>,
        opener: ConversationOpener,
    ) -> Option<Arc<Self>> {
        let worker = random::unguessable()?;
        let stored = Arc::new(Self { store, runtime, worker, local: Arc::downgrade(local), opener });
        stored.runtime.spawn(Box::pin(renew(Arc::downgrade(&stored))));
        stored.runtime.spawn(Box::pin(read_messages(Arc::downgrade(&stored))));
        stored.runtime.spawn(Box::pin(restart::restart_lost(Arc::downgrade(&stored))));
        Some(stored)
    }

    pub(in crate::server::request) fn store(&self) -> &StoreGuard {
        &self.store
    }

    pub(in crate::server::request) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    pub(in crate::server::request) fn worker(&self) -> &str {
        &self.worker
    }

    /// Writes a new task down, before anyone knows its id (TKX-08), and from now on whenever it
    /// changes. `request`: from it the task is run again.
    pub(super) async fn add(
        self: &Arc<Self>,
        task: &Arc<Task>,
        request: Option<TaskRequest>,
        options: &ServerOptions,
    ) -> Result<(), RpcError> {
        let recording = TaskRecording::new(Arc::clone(self), task);
        let is_new = task.run().is_none_or(|run| run.written.is_none());
        let written = async {
            self.renew().await?;
            if let Some(request) = request {
                self.keep_request(task, &request, options.task_ttl).await?;
            }
            recording.begin().await?;
            let principal = &task.owner().principal;
            if is_new && !principal.is_empty() {
                // As long as any task of that list.
                let (most, keep_for) = (options.max_tasks_per_client, options.task_ttl);
                self.store.append(&list(principal), task.id(), most, keep_for).await?;
            }
            Ok(())
        };
        written.await.map_err(unavailable)?;
        task.on_change(move || recording.changed());
        Ok(())
    }

    /// Returns whether a worker lives: its lease is renewed.
    pub(in crate::server::request) async fn lives(&self, worker: &str) -> Result<bool, StoreError> {
        Ok(self.store.get(&lease(worker)).await?.is_some())
    }

    pub(in crate::server::request) async fn renew(&self) -> Result<(), StoreError> {
        self.store.put(&lease(&self.worker), "", LEASE).await
    }

    /// A task that another worker runs, or ran. Others' tasks are as unknown as those that never
    /// were (TSK-32, TKX-24). One whose worker is gone has failed.
    pub(super) async fn find(self: &Arc<Self>, id: &str, owner: &TaskOwner) -> Result<TaskRecord, RpcError> {
        if !is_id(id) {
            return Err(RpcError::unknown_task(id));
        }
        let found = self.look_up(id).await.map_err(unavailable)?;
        found.filter(|record| record.is_visible_to(owner)).ok_or_else(|| RpcError::unknown_task(id))
    }

    pub(super) async fn look_up(self: &Arc<Self>, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        loop {
            let Some(text) = self.store.get(&key(id)).await? else { return Ok(None) };
            let record = TaskRecord::read(&text, self.store.name())?;
            if record.status().is_final() || record.worker == self.worker || self.lives(&record.worker).await? {
                return Ok(Some(record));
            }
            // One of the workers that see it is the one to write it; the others read it again.
            let now = self.runtime.unix_time();
            let next = record.next_run(&self.worker, &iso_8601(now));
            let runs_again = next.is_some();
            let next = next.unwrap_or_else(|| record.lost(&iso_8601(now)));
            let written = next.text();
            if self.store.put_if(&key(id), Some(&text), &written, next.left(now)).await? {
                if runs_again {
                    self.runtime.spawn(Box::pin(restart::run_again(Arc::clone(self), next.clone(), written, text)));
                }
                return Ok(Some(next));
            }
        }
    }

    /// Waits for the end of a task (TSK-20).
    pub(super) async fn ended(self: &Arc<Self>, id: &str, owner: &TaskOwner) -> Result<TaskRecord, RpcError> {
        loop {
            let record = self.find(id, owner).await?;
            if record.status().is_final() {
                return Ok(record);
            }
            self.runtime.sleep_until(later(self.runtime.now(), LOOK)).await;
        }
    }

    pub(super) fn opener(&self) -> &ConversationOpener {
        &self.opener
    }

    /// Asks the worker of a task to cancel it, and waits for that. `None`: it does not do so in
    /// time.
    pub(super) async fn cancel(
        self: &Arc<Self>,
        record: &TaskRecord,
        owner: &TaskOwner,
    ) -> Result<Option<TaskRecord>, RpcError> {
        self.send(&record.worker, &TaskMessage::Cancel { task: record.id().to_owned() }).await?;
        let until = later(self.runtime.now(), TAKEN_WITHIN);
        race::until(&*self.runtime, until, self.ended(record.id(), owner)).await.transpose()
    }

    /// Hands answers of the client to the worker of a task.
    pub(super) async fn update(&self, record: &TaskRecord, responses: Map<String, Value>) -> Result<(), RpcError> {
        self.send(&record.worker, &TaskMessage::Update { task: record.id().to_owned(), responses }).await
    }

    async fn send(&self, worker: &str, message: &TaskMessage) -> Result<(), RpcError> {
        let text = serde_json::to_string(message).map_err(|_| RpcError::internal())?;
        self.store.append(&inbox(worker), &text, MAX_MESSAGES, MESSAGE_TIME).await.map(drop).map_err(unavailable)
    }

    /// One page of a principal's tasks, after a position; and the position after which more follow.
    pub(super) async fn page(
        self: &Arc<Self>,
        after: u64,
        size: usize,
        owner: &TaskOwner,
    ) -> Result<(Vec<TaskRecord>, Option<u64>), RpcError> {
        let size = size.max(1);
        let listed = self.store.read(&list(&owner.principal), after, size.saturating_add(1), Duration::ZERO).await;
        let listed = listed.map_err(unavailable)?;
        let next = (listed.len() > size).then(|| listed[size - 1].position);
        let look_up = |id: String| -> BoxedTask<Result<Option<TaskRecord>, StoreError>> {
            let this = Arc::clone(self);
            Box::pin(async move { this.look_up(&id).await })
        };
        let records = listed.into_iter().take(size).map(|entry| look_up(entry.text)).collect();
        let records = race::all(records).await.map_err(unavailable)?;
        let visible = records.into_iter().flatten().filter(|record| record.is_visible_to(owner)).collect();
        Ok((visible, next))
    }

    /// Stops a task that another worker has taken over or ended: requests about it ask the store
    /// from now on.
    pub(super) fn let_go(&self, task: &Arc<Task>) {
        task.hand_over("another worker has the task");
        if let Some(local) = self.local.upgrade() {
            local.remove(task);
        }
    }

    fn take(&self, message: TaskMessage) {
        let Some(local) = self.local.upgrade() else { return };
        match message {
            TaskMessage::Cancel { task } => {
                if let Some(task) = local.get(&task) {
                    task.cancel("the client cancelled the task");
                }
            }
            TaskMessage::Update { task, responses } => {
                if let Some(task) = local.get(&task) {
                    task.update(responses);
                }
            }
        }
    }
}

/// The error for the client of a store that fails; the log has the rest.
fn unavailable(error: StoreError) -> RpcError {
    tracing::warn!(target: "trunkline::server", "tasks: {error}");
    RpcError::busy("the store of tasks is not available")
}

/// Renews the lease of a worker for as long as it lives.
async fn renew(stored: Weak<StoredTasks>) {
    while let Some(this) = stored.upgrade() {
        // A failure is logged by the store's guard, and the next renewal is soon.
        let _ = this.renew().await;
        let runtime = Arc::clone(&this.runtime);
        drop(this);
        runtime.sleep_until(later(runtime.now(), RENEWAL)).await;
    }
}

/// Reads the messages to a worker for as long as it lives.
async fn read_messages(stored: Weak<StoredTasks>) {
    let mut after = 0;
    while let Some(this) = stored.upgrade() {
        let (store, runtime, log) = (this.store.clone(), Arc::clone(&this.runtime), inbox(&this.worker));
        drop(this);
        let Ok(messages) = store.read(&log, after, BATCH, WAIT).await else {
            runtime.sleep_until(later(runtime.now(), LOOK)).await;
            continue;
        };
        let Some(this) = stored.upgrade() else { return };
        for message in messages {
            after = message.position;
            match serde_json::from_str(&message.text) {
                Ok(message) => this.take(message),
                Err(error) => {
                    tracing::warn!(target: "trunkline::server", "a message between workers is malformed: {error}");
                }
            }
        }
    }
}

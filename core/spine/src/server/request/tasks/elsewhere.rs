//! Requests about tasks that other workers run, and the messages between the workers.

use super::{
    record::TaskRecord,
    restart::restart_lost,
    server_task::TaskOwner,
    stored::{StoredTasks, renew_lease, unavailable},
    task_table::Tasks,
    task_view::TaskView,
};
use crate::{
    engine::{RequestTimeout, later},
    on_drop::{BoxedOnDrop, OnDrop},
    protocol::{RawJson, RpcError},
    race,
    runtime::{BoxedTask, Runtime},
    server::{
        handlers::{Answer, CancelSent, ClientRequestError, InputRequest},
        request::active_request::ActiveRequest,
        session::ConversationOpener,
    },
    store::{FollowedLog, LogEntry, Store, StoreError, StoreGuard},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

/// Bounds the concurrent calls for a page of a list, and those of requests that wait for results: a
/// client can have thousands, which must not fill the queue of the store.
const MAX_CONCURRENT_LOOKUPS: usize = 16;
/// How long a message to a worker is kept.
const MESSAGE_RETENTION: Duration = Duration::from_secs(3600);
/// How often a task that another worker runs is looked up.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The wait before a client's answer is passed on again, after the store failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long another worker may take to cancel a task, and the store to take its final state.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A message to the worker that runs a task.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TaskMessage {
    Cancel {
        task: String,
    },
    /// The client has answered requests of the task, by their keys.
    Answer {
        task: String,
        answers: BTreeMap<String, Answer>,
    },
}

fn inbox(worker: &str) -> String {
    format!("worker/{worker}/tasks")
}

/// The client requests of a task that were sent on one stream, by their keys. Until it is dropped,
/// no other stream of this worker sends them.
type Asked = HashMap<String, (CancelSent, BoxedOnDrop)>;

impl StoredTasks {
    /// Starts to renew the lease of this worker, to read its messages, and to look for the tasks of
    /// dead workers. Returns `None` if the system cannot generate a random id.
    pub(in crate::server) fn start(
        store: StoreGuard,
        runtime: Arc<dyn Runtime>,
        local: &Arc<Tasks>,
        opener: ConversationOpener,
    ) -> Option<Arc<Self>> {
        let stored = Self::new(store, runtime, local, opener)?;
        stored.runtime.spawn(Box::pin(renew_lease(Arc::downgrade(&stored))));
        stored.store.follow(FollowedLog::own(inbox(&stored.worker)), 0, Arc::downgrade(&stored), Self::take);
        stored.runtime.spawn(Box::pin(restart_lost(Arc::downgrade(&stored))));
        Some(stored)
    }

    /// Finds a task that another worker runs or ran. Other callers' tasks look the same as
    /// nonexistent ones (TSK-32, TKX-24). A task whose worker has died has failed.
    pub(super) async fn find(self: &Arc<Self>, id: &str, owner: &TaskOwner) -> Result<TaskRecord, RpcError> {
        if !is_id(id) {
            return Err(RpcError::unknown_task(id));
        }
        let found = self.look_up(id).await.map_err(unavailable)?;
        found.filter(|record| record.is_visible_to(owner)).ok_or_else(|| RpcError::unknown_task(id))
    }

    /// One page of an owner's tasks in its list after a position, and the position of the next
    /// page.
    pub(super) async fn page(
        self: &Arc<Self>,
        list: &str,
        after: u64,
        size: usize,
        owner: &TaskOwner,
    ) -> Result<(Vec<TaskView>, Option<u64>), RpcError> {
        let size = size.max(1);
        let listed = self.store.read(list, after, size.saturating_add(1), Duration::ZERO).await;
        let listed = listed.map_err(unavailable)?;
        let next = (listed.len() > size).then(|| listed[size - 1].position);
        let look_up = |id: String| -> BoxedTask<Result<Option<TaskRecord>, StoreError>> {
            let this = Arc::clone(self);
            Box::pin(async move { this.look_up(&id).await })
        };
        let mut ids = listed.into_iter().take(size).map(|entry| entry.text).peekable();
        let mut tasks = Vec::new();
        while ids.peek().is_some() {
            let records = ids.by_ref().take(MAX_CONCURRENT_LOOKUPS).map(look_up).collect();
            let records = race::all(records).await.map_err(unavailable)?;
            let visible = records.into_iter().flatten().filter(|record| record.is_visible_to(owner));
            tasks.extend(visible.map(|record| record.task));
        }
        Ok((tasks, next))
    }

    /// Asks the worker of a task to cancel it, and waits for that. Returns `None` if that takes too
    /// long.
    pub(super) async fn cancel(
        self: &Arc<Self>,
        record: &TaskRecord,
        owner: &TaskOwner,
    ) -> Result<Option<TaskRecord>, RpcError> {
        self.send(&record.worker, &TaskMessage::Cancel { task: record.id().to_owned() }).await?;
        let ended = async {
            loop {
                let record = self.find(record.id(), owner).await?;
                if record.is_final() {
                    return Ok(record);
                }
                self.runtime.sleep_until(later(self.runtime.now(), POLL_INTERVAL)).await;
            }
        };
        race::within(&*self.runtime, CANCEL_TIMEOUT, ended).await.transpose()
    }

    /// Passes answers of the client to the worker of a task.
    pub(super) async fn answer(&self, record: &TaskRecord, answers: BTreeMap<String, Answer>) -> Result<(), RpcError> {
        self.send(&record.worker, &TaskMessage::Answer { task: record.id().to_owned(), answers }).await
    }

    async fn send(&self, worker: &str, message: &TaskMessage) -> Result<(), RpcError> {
        let text = serde_json::to_string(message).map_err(|_| RpcError::internal())?;
        self.store.send(&inbox(worker), &text, MESSAGE_RETENTION).await.map(drop).map_err(unavailable)
    }

    /// Handles a message to this worker.
    fn take(self: &Arc<Self>, message: &LogEntry) {
        let Some(local) = self.local.upgrade() else { return };
        match serde_json::from_str(&message.text) {
            Ok(TaskMessage::Cancel { task }) => local.with(&task, |task| {
                task.cancel("the client cancelled the task");
            }),
            Ok(TaskMessage::Answer { task, answers }) => local.with(&task, |task| task.take_answers(answers)),
            Err(error) => {
                tracing::warn!(target: "trunkline::server", "a message between workers is malformed: {error}");
            }
        }
    }

    /// The result or error of the request of a task elsewhere, once it is over (TSK-20). Meanwhile,
    /// its client requests are sent on the stream of `context`, the request for the result
    /// (TSK-19).
    pub(super) async fn outcome_elsewhere(
        self: &Arc<Self>,
        mut record: TaskRecord,
        context: &Arc<ActiveRequest>,
    ) -> Result<RawJson, RpcError> {
        let (owner, mut asked) = (context.owner(), Asked::new());
        while !record.is_final() {
            self.ask_here(&record, context, &mut asked);
            let _looking = self.next_look().await;
            record = self.find(record.id(), &owner).await?;
        }
        asked.into_values().for_each(|(cancel, _)| cancel("the task is over"));
        record.task.outcome().ok_or_else(RpcError::internal)?
    }

    /// Waits before the next look at a task, which counts until the returned guard is dropped.
    async fn next_look(&self) -> OnDrop<impl FnOnce()> {
        loop {
            self.runtime.sleep_until(later(self.runtime.now(), POLL_INTERVAL)).await;
            let mut waiting = self.waiting.lock();
            if waiting.looking < MAX_CONCURRENT_LOOKUPS {
                waiting.looking += 1;
                return OnDrop::new(|| self.waiting.lock().looking -= 1);
            }
        }
    }

    /// Sends the client requests of a task elsewhere that no stream of this worker has sent, and
    /// cancels those that the task no longer waits for: it has withdrawn them, or got an answer by
    /// another worker.
    fn ask_here(self: &Arc<Self>, record: &TaskRecord, context: &Arc<ActiveRequest>, asked: &mut Asked) {
        let requests = record.task.requests();
        asked.retain(|key, (cancel, _)| {
            let is_open = requests.clone().any(|(open, _)| open == key);
            if !is_open {
                cancel("the task no longer waits for it");
            }
            is_open
        });
        if !context.can_ask() {
            return asked.clear();
        }
        for (key, request) in requests {
            let name = (record.id().to_owned(), key.clone());
            if !self.waiting.lock().asked.insert(name.clone()) {
                continue;
            }
            let stored = Arc::clone(self);
            let release = move || {
                stored.waiting.lock().asked.remove(&name);
            };
            let sending: BoxedOnDrop = OnDrop::new(Box::new(release));
            match self.send_here(record, context, key, request) {
                Ok(cancel) => drop(asked.insert(key.clone(), (cancel, sending))),
                Err(error) => {
                    tracing::debug!(target: "trunkline::server::tasks", task = record.id(), %error, "could not ask")
                }
            }
        }
    }

    /// Sends a client request of a task elsewhere, and passes the answer to the worker of the task.
    /// The other worker has its own deadline for the question.
    fn send_here(
        self: &Arc<Self>,
        record: &TaskRecord,
        context: &Arc<ActiveRequest>,
        key: &str,
        request: &Value,
    ) -> Result<CancelSent, ClientRequestError> {
        let method = request["method"].as_str().unwrap_or_default();
        let request = InputRequest::new(method, request["params"].clone()).map_err(ClientRequestError::Refused)?;
        let left = record.left(self.runtime.unix_time());
        let (stored, record, key) = (Arc::downgrade(self), record.clone(), key.to_owned());
        let pass_on = move |answer| {
            let answer = match answer {
                Ok(value) => Answer::Given(value),
                Err(ClientRequestError::Refused(error)) => Answer::Refused(error),
                Err(ClientRequestError::Invalid(problem)) => Answer::Unfit(problem),
                // The stream was lost, so the request is sent on another one.
                Err(_) => return,
            };
            if let Some(stored) = stored.upgrade() {
                stored.pass_on(record, BTreeMap::from([(key, answer)]));
            }
        };
        let timeout = RequestTimeout { timeout: left, max: left };
        context.send_input_request(timeout, &request, Box::new(pass_on))
    }

    /// Passes a client's answer to the worker of a task once the store is available.
    fn pass_on(self: Arc<Self>, record: TaskRecord, answers: BTreeMap<String, Answer>) {
        let runtime = Arc::clone(&self.runtime);
        runtime.clone().spawn(Box::pin(async move {
            while self.answer(&record, answers.clone()).await.is_err() && !record.left(runtime.unix_time()).is_zero() {
                runtime.sleep_until(later(runtime.now(), RETRY_DELAY)).await;
            }
        }));
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 22 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

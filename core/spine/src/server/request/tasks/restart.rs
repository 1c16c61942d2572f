//! Restarts tasks whose worker has died.

use super::{
    record::TaskRecord,
    server_task::Task,
    stored::{RENEWAL_INTERVAL, StoredTasks, key},
};
use crate::{
    counts::Holder,
    engine::{LegacyTerms, later},
    protocol::{
        RawJson, RequestId, RpcError,
        envelope::{Frame, Message, Request},
        error::code,
        method,
    },
    runtime::Promise,
    server::{
        handlers::{Arrival, RestartedTask, TaskRun},
        request::active_request::ActiveRequest,
        session::{Outbound, OutgoingMessage},
    },
    store::{Store as _, StoreError, StoreErrorKind},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
    time::Duration,
};

/// The ids of tasks that restart are spread over these logs. The tasks of a client are all in one,
/// so that they push out only those of some others.
const LOG_COUNT: usize = 16;
/// Maximum entries in such a log.
const MAX_IDS: usize = 10_000;
/// Ids read at a time.
const BATCH_SIZE: usize = 100;
/// How often a worker looks for tasks of dead ones.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The stored request of a task, for a restart.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskRequest {
    params: Option<RawJson>,
    /// The verified identity of the sender.
    auth: Option<RawJson>,
    /// The scopes of its tool, which the sender was found to have, perhaps by implication (AUS-12).
    #[serde(default)]
    granted: Vec<String>,
    /// The negotiated terms of its session, in the legacy era.
    terms: Option<LegacyTerms>,
}

impl TaskRequest {
    pub(super) fn of(context: &ActiveRequest) -> Self {
        let in_session = Task::is_core(context.info.revision);
        let granted = context.server().snapshot().scopes_of_request(context.method, context.request_params());
        Self {
            params: context.request_params().cloned(),
            auth: context.info.auth.clone(),
            granted: granted.unwrap_or_default(),
            terms: in_session.then(|| context.connection.conversation().terms().cloned()).flatten(),
        }
    }
}

fn request_key(task: &str) -> String {
    format!("task/{task}/request")
}

/// The log with the ids of the tasks of a client that restart. Callers that are not identified
/// share one.
fn log_of(client: &Holder) -> String {
    let mut hasher = DefaultHasher::new();
    if !matches!(client, Holder::Conversation(_)) {
        client.hash(&mut hasher);
    }
    log_of_ids(hasher.finish() % LOG_COUNT as u64)
}

fn log_of_ids(number: u64) -> String {
    format!("tasks-restarted/{number}")
}

impl StoredTasks {
    /// Finds a stored task. If its worker has died, it restarts here or has failed.
    pub(super) async fn look_up(self: &Arc<Self>, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        loop {
            let Some(text) = self.store.get(&key(id)).await? else { return Ok(None) };
            let record = TaskRecord::read(&text, self.store.name())?;
            if record.is_final() || record.worker == self.worker || self.lives(&record.worker).await? {
                return Ok(Some(record));
            }
            // Of the workers that notice, one writes the record; the others read it again.
            let now = self.runtime.unix_time();
            let next = record.next_run(&self.worker, now);
            let runs_again = next.is_some();
            let next = next.unwrap_or_else(|| record.failed(RpcError::interrupted(), now));
            let written = next.text();
            let taken = self.store.put_if(&key(id), Some(&text), &written, next.left(now)).await;
            // Also if the store did not confirm it: nobody else would.
            if runs_again && !matches!(taken, Ok(false)) {
                self.runtime.spawn(Box::pin(run_again(Arc::clone(self), next.clone(), written, text)));
            }
            if taken? {
                return Ok(Some(next));
            }
        }
    }

    /// Stores the request of a task before the task itself.
    pub(super) async fn keep_request(&self, task: &Task, request: &TaskRequest) -> Result<(), StoreError> {
        let text = serde_json::to_string(request).unwrap_or_default();
        self.store.put(&request_key(task.id()), &text, task.facts.ttl).await
    }

    /// Lists a task among those that restart. Call this once it is stored: to other workers, an id
    /// without a record is a task that is over. The id is kept as long as any task may be.
    pub(super) async fn list_for_restart(&self, task: &Task, longest: Duration) -> Result<(), StoreError> {
        self.store.append(&log_of(&task.facts.holder), task.id(), MAX_IDS, longest).await.map(drop)
    }

    /// Removes the request of a task that is over, because it may be large. If this fails, it
    /// expires with the task.
    pub(super) async fn remove_request(&self, task: &Task) {
        if task.facts.run.is_some() {
            let _ = self.store.remove(&request_key(task.id())).await;
        }
    }

    /// Restarts the tasks of dead workers in a log. `over_to` becomes the position up to which all
    /// tasks are over.
    async fn restart_lost(self: &Arc<Self>, log: &str, over_to: &mut u64) -> Result<(), StoreError> {
        let (mut position, mut all_over) = (*over_to, true);
        loop {
            let ids = self.store.read(log, position, BATCH_SIZE, Duration::ZERO).await?;
            for id in &ids {
                position = id.position;
                let record = match self.look_up(&id.text).await {
                    // A corrupt record must not keep the tasks behind it from being restarted.
                    Err(error) if error.kind == StoreErrorKind::Corrupt => {
                        tracing::error!(target: "trunkline::server::tasks", task = id.text, "{error}");
                        None
                    }
                    found => found?,
                };
                all_over &= record.is_none_or(|record| record.is_final());
                if all_over {
                    *over_to = position;
                }
            }
            if ids.len() < BATCH_SIZE {
                return Ok(());
            }
        }
    }

    /// Processes the stored request of a task again.
    async fn send_again(&self, record: &TaskRecord, written: String) -> Result<(), RpcError> {
        let unreadable = |error: &dyn std::fmt::Display| {
            tracing::error!(target: "trunkline::server::tasks", task = record.id(), %error, "could not read the request of a task");
            RpcError::internal()
        };
        let text = self.store.get(&request_key(record.id())).await.map_err(|_| RpcError::busy("no store"))?;
        let request = text.ok_or_else(|| unreadable(&"it is missing"))?;
        let TaskRequest { params, auth, granted, terms } =
            serde_json::from_str(&request).map_err(|error| unreadable(&error))?;
        let ttl = record.task.ttl();
        let task = RestartedTask {
            id: record.id().to_owned(),
            created: Duration::from_millis(record.ends).saturating_sub(ttl),
            ttl,
            run: TaskRun { number: record.run.unwrap_or(1), written: Some(written) },
        };
        let identity: Option<GrantedIdentity> = auth.as_ref().map(|auth| auth.parse().unwrap_or_default());
        let now = self.runtime.unix_time().as_secs();
        if identity.as_ref().and_then(|identity| identity.expires_at).is_some_and(|end| end <= now) {
            let text = "The access token that the task was made with has expired before it could be run again";
            return Err(RpcError::new(code::INTERNAL_ERROR, text).with_data(json!({"reason": "token_expired"})));
        }
        let scopes = identity.map(|identity| [identity.scopes, granted].concat());
        let reply =
            Arc::new(Restarting { arrival: Arrival::restarting(task), auth, scopes, answer: Promise::default() });
        let outbound: Arc<dyn Outbound> = reply.clone();
        let connection = self.opener.open(&outbound).ok_or_else(|| RpcError::busy("the server is closing"))?;
        if let Some(terms) = terms {
            connection.conversation().restore(terms);
        }
        let request = Request { id: RequestId::Integer(1), method: method::TOOLS_CALL.into(), params };
        connection
            .receive(Frame::Single(Ok(Message::Request(request))), None, &outbound)
            .map_err(|refused| refused.error)?;
        reply.answer.kept().await?;
        match reply.arrival.take_restarted() {
            None => Ok(()),
            Some(_) => Err(RpcError::invalid_request("The tool no longer creates a task for the call")),
        }
    }
}

/// Restarts a task that this worker has taken over, if the takeover is in the store: `written` is
/// the value that it wrote, `before` the previous one. A busy worker leaves the task to others, or
/// for later.
async fn run_again(stored: Arc<StoredTasks>, record: TaskRecord, written: String, before: String) {
    let runtime = &stored.runtime;
    loop {
        match stored.store.get(&key(record.id())).await {
            Ok(current) if current.as_ref() == Some(&written) => break,
            Err(_) if !record.left(runtime.unix_time()).is_zero() => {
                runtime.sleep_until(later(runtime.now(), RENEWAL_INTERVAL)).await;
            }
            Ok(_) | Err(_) => return,
        }
    }
    tracing::info!(target: "trunkline::server::tasks", task = record.id(), run = record.run, "restarting a task whose process has died");
    let Err(error) = stored.send_again(&record, written.clone()).await else { return };
    tracing::warn!(target: "trunkline::server::tasks", task = record.id(), %error, "could not restart a task");
    let now = stored.runtime.unix_time();
    let text = if error.is_busy() { before } else { record.failed(error, now).text() };
    // The store's guard logs failures. In that case, the task simply expires.
    let _ = stored.store.put_if(&key(record.id()), Some(&written), &text, record.left(now)).await;
}

/// Looks for tasks of dead workers for as long as this worker lives.
pub(super) async fn restart_lost(stored: Weak<StoredTasks>) {
    let mut over_to = [0; LOG_COUNT];
    while let Some(this) = stored.upgrade() {
        for (number, over_to) in (0..).zip(&mut over_to) {
            // The store's guard logs failures.
            let _ = this.restart_lost(&log_of_ids(number), over_to).await;
        }
        let runtime = Arc::clone(&this.runtime);
        drop(this);
        runtime.sleep_until(later(runtime.now(), POLL_INTERVAL)).await;
    }
}

/// The scopes and expiry of a verified identity.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GrantedIdentity {
    scopes: Vec<String>,
    /// Unix timestamp in seconds.
    expires_at: Option<u64>,
}

/// The sender of the request of a restarted task.
struct Restarting {
    arrival: Arrival,
    auth: Option<RawJson>,
    /// The scopes granted when the task was created. `None` without authorization.
    scopes: Option<Vec<String>>,
    answer: Promise<Result<(), RpcError>>,
}

impl Outbound for Restarting {
    fn send(&self, outgoing: OutgoingMessage) {
        match outgoing {
            OutgoingMessage::Response { message, failure } => {
                self.answer.keep(failure.map_or(Ok(()), |_| Err(error_of(&message))));
            }
            OutgoingMessage::Abandoned => self.answer.keep(Err(RpcError::busy("the server is closing"))),
            OutgoingMessage::Notification(_) | OutgoingMessage::Request(_) => {}
        }
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn auth(&self) -> Option<&RawJson> {
        self.auth.as_ref()
    }

    fn arrival(&self) -> Option<&Arrival> {
        Some(&self.arrival)
    }

    fn grants(&self, scopes: &[String]) -> bool {
        self.scopes.as_ref().is_none_or(|granted| scopes.iter().all(|scope| granted.contains(scope)))
    }
}

/// The error in a response of this server.
fn error_of(response: &[u8]) -> RpcError {
    #[derive(Deserialize)]
    struct Refused {
        error: RpcError,
    }
    serde_json::from_slice(response).map_or_else(|_| RpcError::internal(), |Refused { error }| error)
}

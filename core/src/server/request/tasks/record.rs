//! Stored tasks.

use super::{
    stored::digest,
    task::{Task, TaskOwner},
    task_view::TaskView,
};
use crate::{
    protocol::{RawJson, Revision, RpcError, model::TaskStatus},
    server::result::ResultWriter,
    store::{StoreError, StoreErrorKind},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum number of runs of a task, so that one that crashes its process cannot take down all
/// workers.
const MAX_RUNS: u32 = 3;

/// A task as written by the worker that runs it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    /// The worker.
    pub(super) worker: String,
    /// The principal that created it. Empty without authorization.
    pub(super) principal: String,
    /// Whether it was created in a legacy session.
    pub(super) session: bool,
    /// The digest of that session's id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_digest: Option<String>,
    /// When it expires, in milliseconds since the Unix epoch.
    pub(super) ends: u64,
    /// The number of the run, starting at 1, if the task restarts when its worker dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<u32>,
    /// The task in the form of the extension.
    task: TaskView,
}

impl TaskRecord {
    pub(super) fn of(task: &Task, worker: &str) -> Self {
        let owner = task.owner();
        Self {
            worker: worker.to_owned(),
            principal: owner.principal.clone(),
            session: owner.session.is_some(),
            session_digest: owner.session_id.as_deref().map(digest),
            ends: u64::try_from(task.ends().as_millis()).unwrap_or(u64::MAX),
            run: task.run().map(|run| run.number),
            task: task.latest(),
        }
    }

    pub(super) fn read(text: &str, store: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::new(StoreErrorKind::Corrupt, store, format!("a task is malformed: {error}")))
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        self.task.members["taskId"].as_str().unwrap_or_default()
    }

    /// How long the task is kept, from its creation.
    pub(super) fn ttl(&self) -> Duration {
        Duration::from_millis(self.task.members["ttlMs"].as_u64().unwrap_or_default())
    }

    /// Time until it expires.
    pub(super) fn left(&self, now: Duration) -> Duration {
        Duration::from_millis(self.ends).saturating_sub(now)
    }

    /// A principal sees its own tasks. Without one, a session sees its own, at every process if it
    /// has an id, and anyone who knows the id sees a modern task.
    pub(super) fn is_visible_to(&self, owner: &TaskOwner) -> bool {
        if self.principal != owner.principal {
            return false;
        }
        let same_session = match (&self.session_digest, &owner.session_id) {
            (Some(of_task), Some(id)) => *of_task == digest(id),
            _ => !self.session && owner.session.is_none(),
        };
        !self.principal.is_empty() || same_session
    }

    pub(super) fn is_of_session(&self) -> bool {
        self.session
    }

    pub(super) fn status(&self) -> TaskStatus {
        serde_json::from_value(self.task.members["status"].clone()).unwrap_or_default()
    }

    /// The record after its worker died, if it is not restarted.
    pub(super) fn lost(&self, now: &str) -> Self {
        self.failed(&RpcError::interrupted(), now)
    }

    /// The record for a restart by another worker. Returns `None` if the task is not restarted.
    pub(super) fn next_run(&self, worker: &str, now: &str) -> Option<Self> {
        let number = self.run.filter(|number| *number < MAX_RUNS)?;
        let mut next = Self { worker: worker.to_owned(), run: Some(number + 1), ..self.clone() };
        next.task.members["status"] = TaskStatus::Working.as_str().into();
        next.task.members["lastUpdatedAt"] = now.into();
        if let Some(task) = next.task.members.as_object_mut() {
            task.shift_remove("inputRequests");
            task.shift_remove("statusMessage");
        }
        Some(next)
    }

    /// The record after the task failed.
    pub(super) fn failed(&self, error: &RpcError, now: &str) -> Self {
        let mut lost = self.clone();
        lost.task.members["status"] = TaskStatus::Failed.as_str().into();
        lost.task.members["statusMessage"] = error.message.as_str().into();
        lost.task.members["lastUpdatedAt"] = now.into();
        lost.task.members["error"] = json!(error);
        if let Some(task) = lost.task.members.as_object_mut() {
            task.shift_remove("inputRequests");
        }
        lost
    }

    /// The task, projected to a revision.
    pub(super) fn to_json(&self, revision: Revision) -> Value {
        self.task.to_json(revision)
    }

    /// The task as a result.
    pub(super) fn to_result(&self, results: &ResultWriter, revision: Revision) -> RawJson {
        self.task.to_result(results, revision)
    }

    /// The result or error of the request, related to the task. `None` if there is none yet.
    pub(super) fn outcome(&self) -> Option<Result<RawJson, RpcError>> {
        match self.status() {
            TaskStatus::Completed => self.task.result.as_ref().map(|result| result.related(self.id())),
            TaskStatus::Failed => {
                let error = serde_json::from_value(self.task.members["error"].clone());
                Some(Err(error.unwrap_or_else(|_| RpcError::internal())))
            }
            TaskStatus::Cancelled => Some(Err(RpcError::invalid_request("The task was cancelled"))),
            TaskStatus::Working | TaskStatus::InputRequired => None,
        }
    }
}

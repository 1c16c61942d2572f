//! Tasks as a store keeps them.

use super::{
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

/// The runs of a task at most: one that ends its process each time must not end them all.
const MAX_RUNS: u32 = 3;

/// A task as the worker that runs it wrote it down.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    /// The worker.
    pub(super) worker: String,
    /// The principal that made it; empty: nobody was asked for a token.
    pub(super) principal: String,
    /// It was made in a session of the legacy era.
    pub(super) session: bool,
    /// The end of its time, in milliseconds since 1970.
    pub(super) ends: u64,
    /// The number of the run, from 1, if it is run again whenever its worker is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<u32>,
    /// The task as the extension shows it.
    task: TaskView,
}

impl TaskRecord {
    pub(super) fn of(task: &Task, worker: &str) -> Self {
        let owner = task.owner();
        Self {
            worker: worker.to_owned(),
            principal: owner.principal.clone(),
            session: owner.session.is_some(),
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

    /// The time for which it is kept, since it was made.
    pub(super) fn ttl(&self) -> Duration {
        Duration::from_millis(self.task.members["ttlMs"].as_u64().unwrap_or_default())
    }

    /// The time until it is forgotten.
    pub(super) fn left(&self, now: Duration) -> Duration {
        Duration::from_millis(self.ends).saturating_sub(now)
    }

    /// With a principal, its tasks; without, those of the modern era by their ids, for a session
    /// ends with its process.
    pub(super) fn is_visible_to(&self, owner: &TaskOwner) -> bool {
        self.principal == owner.principal && (!self.principal.is_empty() || (!self.session && owner.session.is_none()))
    }

    pub(super) fn is_of_session(&self) -> bool {
        self.session
    }

    pub(super) fn status(&self) -> TaskStatus {
        serde_json::from_value(self.task.members["status"].clone()).unwrap_or_default()
    }

    /// The same task when its worker is gone, and it is not run again.
    pub(super) fn lost(&self, now: &str) -> Self {
        self.failed(&RpcError::interrupted(), now)
    }

    /// The same task when it is run again by another worker. `None`: it is not.
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

    /// The same task when it has failed.
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

    /// The task in the form of a revision.
    pub(super) fn to_json(&self, revision: Revision) -> Value {
        self.task.to_json(revision)
    }

    /// The same as a result.
    pub(super) fn to_result(&self, results: &ResultWriter, revision: Revision) -> RawJson {
        self.task.to_result(results, revision)
    }

    /// The result of the request, tied to the task, or its error. `None`: there is none yet.
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

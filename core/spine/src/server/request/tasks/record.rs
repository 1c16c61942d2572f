//! Stored tasks.

use super::{
    server_task::{Task, TaskFacts, TaskOwner},
    task_view::TaskView,
};
use crate::{
    protocol::{RpcError, model::TaskStatus},
    server::request::request_state::digest,
    store::{StoreError, StoreErrorKind},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Maximum number of runs of a task, so that one that crashes its process cannot take down all
/// workers.
const MAX_RUNS: u32 = 3;

/// A task as written by the worker that runs it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::server) struct TaskRecord {
    /// The worker.
    pub(super) worker: String,
    /// The principal that created it. Empty without authorization.
    pub(super) principal: String,
    /// True if the task was created in a legacy session.
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
    pub(super) task: TaskView,
}

impl TaskRecord {
    pub(super) fn of(task: &Task, worker: &str) -> Self {
        let TaskFacts { owner, run, .. } = &task.facts;
        Self {
            worker: worker.to_owned(),
            principal: owner.principal.clone(),
            session: owner.session.is_some(),
            session_digest: owner.session_id.as_deref().map(digest),
            ends: u64::try_from(task.facts.ends().as_millis()).unwrap_or(u64::MAX),
            run: run.as_ref().map(|run| run.number),
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

    /// Returns whether a stored record is of the same run of the task. If that is over, another
    /// worker presumed this one dead.
    pub(super) fn continues(&self, stored: &str) -> bool {
        let is_same = |stored: Self| stored.worker == self.worker && stored.run == self.run && !stored.is_final();
        serde_json::from_str(stored).is_ok_and(is_same)
    }

    pub(super) fn id(&self) -> &str {
        self.task.id()
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

    pub(super) fn is_final(&self) -> bool {
        self.task.status().is_final()
    }

    /// The record for a restart by another worker. Returns `None` if the task is not restarted.
    pub(super) fn next_run(&self, worker: &str, now: Duration) -> Option<Self> {
        let number = self.run.filter(|number| *number < MAX_RUNS)?;
        let mut next = Self { worker: worker.to_owned(), run: Some(number + 1), ..self.clone() };
        next.task.restart(now);
        Some(next)
    }

    /// The record after the task failed.
    pub(super) fn failed(&self, error: RpcError, now: Duration) -> Self {
        let mut failed = self.clone();
        failed.task.end(TaskStatus::Failed, Err(error), now);
        failed
    }
}

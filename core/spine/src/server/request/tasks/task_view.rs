//! Tasks in the form of the extension, with the results of their requests, which are passed to the
//! client unparsed. The process that runs a task and the workers that find it in the store share
//! this form and its transitions.

use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        RawJson, Revision, RevisionFeature, RpcError, meta,
        model::{Task, TaskStatus},
        project,
    },
    server::result::ResultWriter,
    timestamp::iso_8601,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The result of the request of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "RawJson", into = "RawJson")]
pub(super) struct TaskResult {
    text: RawJson,
    /// True if `isError` is set.
    is_error: bool,
}

impl From<RawJson> for TaskResult {
    fn from(text: RawJson) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct ToolResult {
            is_error: bool,
        }
        let is_error = text.parse::<ToolResult>().unwrap_or_default().is_error;
        Self { text, is_error }
    }
}

impl From<TaskResult> for RawJson {
    fn from(result: TaskResult) -> Self {
        result.text
    }
}

impl TaskResult {
    /// The result, related to the task (TSK-18, TSK-21). Its other members are unchanged.
    fn related(&self, task: &str) -> Result<RawJson, RpcError> {
        related(&self.text, task)
    }
}

/// Relates a message to a task (TSK-15). Its other members are unchanged.
pub(super) fn related(message: &RawJson, task: &str) -> Result<RawJson, RpcError> {
    let mut members: ObjectMembers = message.parse().map_err(|_| RpcError::internal())?;
    let meta: Option<ObjectMembers> = members.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok());
    let mut meta = meta.unwrap_or_default();
    rewriting::set(&mut meta, meta::RELATED_TASK, &json!({"taskId": task}));
    rewriting::set(&mut members, "_meta", &meta);
    Ok(RawJson::object(&members))
}

/// A task in the form of the extension. In the store, it is a single object.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::server) struct TaskView {
    /// All members except the result.
    #[serde(flatten)]
    task: Task,
    /// The result of a completed task; written as the last member.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<TaskResult>,
}

impl TaskView {
    /// A task that starts to run. Times are since the Unix epoch.
    pub(super) fn new(id: &str, created: Duration, ttl: Duration, poll_interval: Duration) -> Self {
        let task = Task {
            task_id: id.to_owned(),
            status: TaskStatus::Working,
            created_at: iso_8601(created),
            last_updated_at: iso_8601(created),
            ttl_ms: Some(ttl.as_millis() as u64),
            poll_interval_ms: Some(poll_interval.as_millis() as u64),
            ..Task::default()
        };
        Self { task, result: None }
    }

    pub(in crate::server) fn id(&self) -> &str {
        &self.task.task_id
    }

    pub(super) fn status(&self) -> TaskStatus {
        self.task.status
    }

    /// How long the task is kept, from its creation.
    pub(super) fn ttl(&self) -> Duration {
        Duration::from_millis(self.task.ttl_ms.unwrap_or_default())
    }

    /// Sets the time of the last change. It never decreases, whatever the clocks of the workers:
    /// clients ignore states that seem older than one that they have seen.
    pub(super) fn touch(&mut self, now: Duration) {
        let now = iso_8601(now);
        if self.task.last_updated_at < now {
            self.task.last_updated_at = now;
        }
    }

    /// Sets the status message.
    pub(super) fn set_message(&mut self, message: &str) {
        self.task.status_message = Some(message.to_owned());
    }

    /// Sets the client requests that a running task waits for.
    pub(super) fn set_requests(&mut self, requests: Map<String, Value>) {
        self.set_status(TaskStatus::Working);
        if !requests.is_empty() {
            self.set_status(TaskStatus::InputRequired);
            self.task.input_requests = Some(requests);
        }
    }

    /// The client requests that it waits for, by their keys.
    pub(super) fn requests(&self) -> impl Iterator<Item = (&String, &Value)> + Clone {
        self.task.input_requests.iter().flatten()
    }

    /// Starts another run.
    pub(super) fn restart(&mut self, now: Duration) {
        self.set_status(TaskStatus::Working);
        self.task.status_message = None;
        self.touch(now);
    }

    /// Ends the task.
    pub(super) fn end(&mut self, status: TaskStatus, outcome: Result<TaskResult, RpcError>, now: Duration) {
        self.set_status(status);
        self.touch(now);
        match outcome {
            Ok(result) => self.result = Some(result),
            Err(error) => {
                self.set_message(&error.message);
                if status == TaskStatus::Failed {
                    self.task.error = Some(error);
                }
            }
        }
    }

    /// Only a task in the status `input_required` has requests.
    fn set_status(&mut self, status: TaskStatus) {
        self.task.input_requests = None;
        self.task.status = status;
    }

    /// The result or error of the request, related to the task. `None` if there is none yet.
    pub(super) fn outcome(&self) -> Option<Result<RawJson, RpcError>> {
        match self.status() {
            TaskStatus::Completed => self.result.as_ref().map(|result| result.related(self.id())),
            TaskStatus::Failed => Some(Err(self.task.error.clone().unwrap_or_else(RpcError::internal))),
            TaskStatus::Cancelled => Some(Err(RpcError::invalid_request("The task was cancelled"))),
            TaskStatus::Working | TaskStatus::InputRequired => None,
        }
    }

    /// The task, projected to a revision, without the result that the extension includes: no new
    /// task has one, and only the core form has lists.
    pub(in crate::server) fn to_json(&self, revision: Revision) -> Value {
        self.parts(revision).0
    }

    /// The task as a result.
    pub(in crate::server) fn to_result(&self, results: &ResultWriter, revision: Revision) -> RawJson {
        results.seal(self.open_object(revision), revision)
    }

    /// The task as JSON text, for notifications.
    pub(super) fn to_text(&self, revision: Revision) -> RawJson {
        let mut object = self.open_object(revision);
        object.push(b'}');
        RawJson::trusted(object.into())
    }

    /// The task as an object without its closing brace.
    fn open_object(&self, revision: Revision) -> Vec<u8> {
        let (task, result) = self.parts(revision);
        let mut object = task.to_string().into_bytes();
        object.pop();
        if let Some(result) = result {
            object.extend_from_slice(br#","result":"#);
            object.extend_from_slice(result.as_bytes());
        }
        object
    }

    /// The task for a revision, and the result if that revision includes it.
    fn parts(&self, revision: Revision) -> (Value, Option<&RawJson>) {
        let mut task = json!(self.task);
        let result = self.result.as_ref();
        if revision.supports(RevisionFeature::TasksExtension) {
            return (task, result.map(|result| &result.text));
        }
        // In the core form, a task only tells whether the tool failed (TSK-22).
        if let Some(result) = result {
            task["result"] = json!({"isError": result.is_error});
        }
        project::project_task(&mut task, revision);
        (task, None)
    }
}

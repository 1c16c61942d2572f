//! The host tasks of a connection, by id.

use crate::{
    client::ClientOptions,
    protocol::{
        RawJson, RequestId, Revision, RpcError,
        model::{Task, TaskStatus},
        project,
    },
    random::unguessable,
    runtime::Promise,
    sync::Mutex,
    timestamp::iso_8601,
};
use indexmap::IndexMap;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Maximum number of running handlers.
const MAX_RUNNING: usize = 64;

/// Maximum number of requests waiting for the outcome of one task.
const MAX_WAITING: usize = 16;

/// The polling interval for servers, which are also notified.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Page size of lists.
const PAGE_SIZE: usize = 50;

/// The tasks of a host. Only the server of the connection knows their ids, which cannot be guessed
/// (TSK-32, TSK-33).
pub(in crate::client) struct HostTasks {
    /// The limit on the tasks, and on the total size of their results (TSK-35).
    max: usize,
    max_bytes: usize,
    table: Mutex<HostTaskTable>,
}

/// A task that has started.
pub(in crate::client) struct BegunTask {
    pub(in crate::client) id: String,
    /// The result with the new task (TSK-10).
    pub(in crate::client) created: Value,
    /// Completed when its handler must stop.
    pub(in crate::client) stop: Arc<Promise<()>>,
}

/// A task that has just ended.
pub(in crate::client) struct EndedTask {
    /// The task as the server sees it.
    pub(in crate::client) view: Value,
    /// The outcome of its request.
    pub(in crate::client) outcome: Result<RawJson, RpcError>,
    /// The requests waiting for the outcome.
    pub(in crate::client) waiting: Vec<RequestId>,
}

#[derive(Default)]
struct HostTaskTable {
    /// By id, oldest first.
    tasks: IndexMap<String, HostTask>,
    /// The number of the newest task.
    last: u64,
}

struct HostTask {
    task: Task,
    /// Its position in lists, which cursors name.
    number: u64,
    outcome: Option<Result<RawJson, RpcError>>,
    waiting: Vec<RequestId>,
    stop: Arc<Promise<()>>,
}

impl HostTasks {
    pub(in crate::client) fn new(options: &ClientOptions) -> Self {
        let ClientOptions { max_host_tasks, max_host_task_bytes, .. } = *options;
        Self { max: max_host_tasks, max_bytes: max_host_task_bytes, table: Mutex::default() }
    }

    /// Returns whether requests may become tasks.
    pub(in crate::client) fn are_enabled(&self) -> bool {
        self.max > 0
    }

    /// Adds a task, unless there are too many.
    pub(in crate::client) fn begin(&self, ttl: Duration, now: Duration) -> Result<BegunTask, RpcError> {
        let id = unguessable().ok_or_else(RpcError::internal)?;
        let mut table = self.table.lock();
        if table.tasks.len() >= self.max {
            return Err(RpcError::busy(&format!("{} tasks are already kept", self.max)));
        }
        if table.tasks.values().filter(|task| task.outcome.is_none()).count() >= MAX_RUNNING {
            return Err(RpcError::busy(&format!("{MAX_RUNNING} tasks are already waiting for the host")));
        }
        let stop = Arc::new(Promise::default());
        table.last += 1;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let task = Task {
            task_id: id.clone(),
            status: TaskStatus::Working,
            created_at: iso_8601(now),
            last_updated_at: iso_8601(now),
            ttl_ms: Some(millis(ttl)),
            poll_interval_ms: Some(millis(POLL_INTERVAL)),
            ..Task::default()
        };
        let created = project::created_task(json!(task), Revision::V2025_11_25);
        let (number, waiting) = (table.last, Vec::new());
        let task = HostTask { task, number, outcome: None, waiting, stop: Arc::clone(&stop) };
        table.tasks.insert(id.clone(), task);
        Ok(BegunTask { id, created, stop })
    }

    /// Ends a task with the outcome of its handler. Returns `None` if it is already over or removed
    /// (TSK-13). An outcome that does not fit is replaced by an error.
    pub(in crate::client) fn finish(
        &self,
        id: &str,
        outcome: Result<RawJson, RpcError>,
        now: Duration,
    ) -> Option<EndedTask> {
        let mut table = self.table.lock();
        let size = outcome.as_ref().map_or(0, |result| result.as_bytes().len());
        let kept: usize = table.tasks.values().map(HostTask::size).sum();
        let outcome = if kept.saturating_add(size) > self.max_bytes {
            Err(RpcError::busy(&format!(
                "the result of {size} bytes cannot be kept: the results of tasks take up too much memory"
            )))
        } else {
            outcome
        };
        let status = if outcome.is_ok() { TaskStatus::Completed } else { TaskStatus::Failed };
        table.end(id, status, outcome, now)
    }

    /// Cancels a task (TSK-30).
    ///
    /// # Errors
    /// If the task is unknown (TSK-31) or over (TSK-29).
    pub(in crate::client) fn cancel(&self, id: &str, now: Duration) -> Result<EndedTask, RpcError> {
        let mut table = self.table.lock();
        let stop = Arc::clone(&table.get(id)?.stop);
        let outcome = Err(RpcError::invalid_request("The task was cancelled"));
        let ended = table
            .end(id, TaskStatus::Cancelled, outcome, now)
            .ok_or_else(|| RpcError::invalid_params(format!("The task {id} has already ended")))?;
        drop(table);
        stop.keep(());
        Ok(ended)
    }

    /// The task as the server sees it.
    pub(in crate::client) fn show(&self, id: &str) -> Result<Value, RpcError> {
        self.table.lock().get(id).map(HostTask::view)
    }

    /// One page of a list, oldest first (TSK-27, TSK-28).
    pub(in crate::client) fn page(&self, cursor: Option<&str>) -> Result<Value, RpcError> {
        let after = match cursor {
            None => 0,
            Some(cursor) => cursor.parse::<u64>().map_err(|_| RpcError::invalid_cursor())?,
        };
        let table = self.table.lock();
        let first = table.tasks.partition_point(|_, task| task.number <= after);
        let following = table.tasks.values().skip(first);
        let tasks: Vec<_> = following.clone().take(PAGE_SIZE).map(HostTask::view).collect();
        let mut page = json!({"tasks": tasks});
        let mut rest = following.skip(PAGE_SIZE - 1);
        if let (Some(last), Some(_)) = (rest.next(), rest.next()) {
            page["nextCursor"] = last.number.to_string().into();
        }
        Ok(page)
    }

    /// The outcome of a task, or `None` if the request has to wait for it (TSK-20).
    pub(in crate::client) fn fetch(
        &self,
        id: &str,
        request: &RequestId,
    ) -> Result<Option<Result<RawJson, RpcError>>, RpcError> {
        let mut table = self.table.lock();
        let task = table.tasks.get_mut(id).ok_or_else(|| RpcError::unknown_task(id))?;
        if task.outcome.is_none() {
            if task.waiting.len() >= MAX_WAITING {
                return Err(RpcError::busy(&format!(
                    "{MAX_WAITING} requests are already waiting for the result of the task {id}"
                )));
            }
            task.waiting.push(request.clone());
        }
        Ok(task.outcome.clone())
    }

    /// Removes a request that no longer waits.
    pub(in crate::client) fn forget(&self, request: &RequestId) {
        for task in self.table.lock().tasks.values_mut() {
            task.waiting.retain(|waiting| waiting != request);
        }
    }

    /// Removes an expired task. Returns the requests waiting for its outcome.
    pub(in crate::client) fn expire(&self, id: &str) -> Vec<RequestId> {
        let expired = self.table.lock().tasks.shift_remove(id);
        let Some(task) = expired else { return Vec::new() };
        task.stop.keep(());
        task.waiting
    }

    /// Stops all tasks when the connection has ended, because only its server knows them.
    pub(in crate::client) fn stop_all(&self) {
        let stopped = std::mem::take(&mut self.table.lock().tasks);
        stopped.values().for_each(|task| task.stop.keep(()));
    }
}

impl HostTaskTable {
    fn get(&self, id: &str) -> Result<&HostTask, RpcError> {
        self.tasks.get(id).ok_or_else(|| RpcError::unknown_task(id))
    }

    fn end(
        &mut self,
        id: &str,
        status: TaskStatus,
        outcome: Result<RawJson, RpcError>,
        now: Duration,
    ) -> Option<EndedTask> {
        let ended = self.tasks.get_mut(id).filter(|ended| ended.task.status.may_become(status))?;
        ended.task.status = status;
        ended.task.last_updated_at = iso_8601(now);
        ended.task.status_message = outcome.as_ref().err().map(|error| error.message.clone());
        ended.outcome = Some(outcome.clone());
        Some(EndedTask { view: ended.view(), outcome, waiting: std::mem::take(&mut ended.waiting) })
    }
}

impl HostTask {
    /// The size of its result.
    fn size(&self) -> usize {
        self.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).map_or(0, |result| result.as_bytes().len())
    }

    /// The task in the form of 2025-11-25.
    fn view(&self) -> Value {
        let mut view = json!(self.task);
        project::project_task(&mut view, Revision::V2025_11_25);
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_wait_for_one_task_are_bounded() {
        let tasks = HostTasks::new(&ClientOptions::default());
        let task = tasks.begin(Duration::from_secs(9), Duration::ZERO).unwrap().id;
        let fetch = |number| tasks.fetch(&task, &RequestId::Integer(number));
        for number in 0..MAX_WAITING as i64 {
            assert!(fetch(number).unwrap().is_none());
        }
        assert!(fetch(99).unwrap_err().message.contains("waiting for the result"));
        let ended = tasks.finish(&task, Ok(RawJson::empty_object()), Duration::ZERO).unwrap();
        assert_eq!(ended.waiting.len(), MAX_WAITING);
        assert!(fetch(100).unwrap().is_some());
    }
}

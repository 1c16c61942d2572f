//! Tasks: work that outlasts its request.

use super::JsonObject;
use crate::protocol::RpcError;
use serde_json::Value;

json_object! {
    /// A task, in the form of the extension; projected for 2025-11-25.
    pub struct Task {
        /// Unguessable id.
        required task_id: String = "taskId",
        /// Status.
        required status: TaskStatus = "status",
        /// Current step of the work, or the reason of its failure.
        optional status_message: String = "statusMessage",
        /// Time of creation (ISO 8601).
        required created_at: String = "createdAt",
        /// Time of the last change (ISO 8601).
        required last_updated_at: String = "lastUpdatedAt",
        /// How long the task is kept after its creation, in milliseconds; absent: forever.
        nullable ttl_ms: u64 = "ttlMs",
        /// Suggested pause between two polls, in milliseconds.
        optional poll_interval_ms: u64 = "pollIntervalMs",
        /// Requests for input from the client, by key (`input_required`).
        optional input_requests: JsonObject = "inputRequests",
        /// Result of the request (`completed`).
        optional result: Value = "result",
        /// JSON-RPC error of the request (`failed`).
        optional error: RpcError = "error",
    }

    /// A page of the tasks that a server keeps.
    pub struct ListTasksResult with meta {
        /// The tasks.
        list tasks: Task = "tasks",
        /// Cursor of the next page; absent on the last page.
        optional next_cursor: String = "nextCursor",
    }
}

crate::json_names! {
    /// The status of a task.
    pub enum TaskStatus, by default Working {
        /// The task is running.
        Working = "working",
        /// The task is waiting for input from the client.
        InputRequired = "input_required",
        /// The task has a result.
        Completed = "completed",
        /// The task has an error.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Returns `true` if the status cannot change anymore.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns `true` if a task can change from this status to `next`.
    pub fn may_become(self, next: Self) -> bool {
        !self.is_final() && self != next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tsk_12_13_tkx_28_final_tasks_change_no_more() {
        for status in TaskStatus::ALL {
            assert_eq!(json!(status), status.as_str());
            for next in TaskStatus::ALL {
                assert_eq!(status.may_become(next), !status.is_final() && status != next);
            }
        }
        assert!(TaskStatus::InputRequired.may_become(TaskStatus::Working));
        assert!(!TaskStatus::Cancelled.may_become(TaskStatus::Completed));
    }

    #[test]
    fn tkx_27_a_task_always_says_how_long_it_is_kept() {
        let wire = json!({"taskId": "t", "status": "input_required", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "inputRequests": {"a": {}}, "x": 1});
        let task: Task = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(task.ttl_ms, None);
        assert_eq!(serde_json::to_value(&task).unwrap(), wire);
    }
}

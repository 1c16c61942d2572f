//! Tasks: work that outlasts its request.

use super::JsonObject;
use crate::protocol::RpcError;
use serde_json::Value;

json_object! {
    /// A task as the extension shows it; for 2025-11-25 it is projected.
    pub struct Task {
        /// The id, which cannot be guessed.
        required task_id: String = "taskId",
        /// The status.
        required status: TaskStatus = "status",
        /// The current step of the work, or the reason of its failure.
        optional status_message: String = "statusMessage",
        /// The time of creation (ISO 8601).
        required created_at: String = "createdAt",
        /// The time of the last change (ISO 8601).
        required last_updated_at: String = "lastUpdatedAt",
        /// Time that it is kept after it was made, in milliseconds; without it, forever.
        nullable ttl_ms: u64 = "ttlMs",
        /// The pause between two polls, in milliseconds.
        optional poll_interval_ms: u64 = "pollIntervalMs",
        /// The requests for input of the client, by key (`input_required`).
        optional input_requests: JsonObject = "inputRequests",
        /// The result of the request (`completed`).
        optional result: Value = "result",
        /// The JSON-RPC error of the request (`failed`).
        optional error: RpcError = "error",
    }
}

json_object! {
    /// One page of the tasks that a server keeps.
    pub struct ListTasksResult {
        /// The tasks.
        list tasks: Task = "tasks",
        /// The cursor of the next page; absent after the last one.
        optional next_cursor: String = "nextCursor",
        /// Metadata, by reverse-domain name.
        optional meta: JsonObject = "_meta",
    }
}

json_names! {
    /// State of a task.
    pub enum TaskStatus, by default Working {
        /// It runs.
        Working = "working",
        /// It waits for the client.
        InputRequired = "input_required",
        /// It has a result.
        Completed = "completed",
        /// It has an error.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Returns `true` if the task changes no more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns `true` if a task of this status may go on to `next`.
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

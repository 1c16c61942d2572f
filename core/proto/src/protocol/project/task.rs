//! Projection of tasks: the extension's form on 2026-07-28, the core form on 2025-11-25.

use crate::protocol::{Revision, RevisionFeature};
use serde_json::{Map, Value, json};

/// Removes the task that a request asks for.
pub(super) fn remove_task(params: &mut Map<String, Value>, revision: Revision) {
    if !revision.supports(RevisionFeature::CoreTasks) {
        params.shift_remove("task");
    }
}

/// Projects a task from the extension's form.
pub fn project_task(task: &mut Value, revision: Revision) {
    let Some(task) = task.as_object_mut() else { return };
    if revision.supports(RevisionFeature::TasksExtension) {
        return;
    }
    for (modern, core) in [("ttlMs", "ttl"), ("pollIntervalMs", "pollInterval")] {
        if let Some(value) = task.shift_remove(modern) {
            task.insert(core.to_owned(), value);
        }
    }
    // In that revision, results come from `tasks/result`, and input is requested with separate
    // requests.
    let result = task.shift_remove("result");
    task.shift_remove("inputRequests");
    task.shift_remove("error");
    // In that revision, a failed tool fails its task (TSK-22); in the extension, the task is
    // completed (TKX-11).
    if task.get("status") == Some(&json!("completed"))
        && result.is_some_and(|result| result.get("isError") == Some(&json!(true)))
    {
        task.insert("status".to_owned(), json!("failed"));
    }
}

/// The result that announces a new task, from the extension's form.
pub fn created_task(mut task: Value, revision: Revision) -> Value {
    project_task(&mut task, revision);
    if !revision.supports(RevisionFeature::TasksExtension) {
        return json!({"task": task});
    }
    if let Some(task) = task.as_object_mut() {
        task.insert("resultType".to_owned(), json!("task"));
    }
    task
}

#[cfg(test)]
mod tests {
    use super::super::testing::projected;
    use super::*;
    use crate::protocol::Revision::*;

    fn task() -> Value {
        json!({"taskId": "t", "status": "completed", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 500,
            "result": {"content": [], "isError": true}})
    }

    #[test]
    fn tsk_22_tkx_11_a_failed_tool_is_a_failed_task_on_2025_11_25_only() {
        assert_eq!(
            projected(project_task, &task(), V2025_11_25),
            json!({"taskId": "t", "status": "failed", "createdAt": "2026-01-01T00:00:00Z",
                "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "pollInterval": 500})
        );
        assert_eq!(projected(project_task, &task(), V2026_07_28), task());
        let mut fine = task();
        fine["result"] = json!({"content": []});
        assert_eq!(projected(project_task, &fine, V2025_11_25)["status"], "completed");
    }

    #[test]
    fn tsk_10_tkx_06_a_task_is_handed_out_in_the_form_of_the_revision() {
        assert_eq!(created_task(task(), V2025_11_25)["task"]["ttl"], Value::Null);
        let flat = created_task(task(), V2026_07_28);
        assert_eq!((&flat["resultType"], &flat["taskId"]), (&json!("task"), &json!("t")));
    }
}

//! Converts tasks of every revision to the form of the extension.

use crate::protocol::{
    RawJson, method,
    model::{JsonObject, Task},
};
use serde_json::Value;

/// Parses a task of either form.
pub(in crate::client) fn read_task(json: &RawJson) -> Result<Task, serde_json::Error> {
    let mut members: JsonObject = json.parse()?;
    unify(&mut members);
    // Belongs to the message, not to the task.
    members.shift_remove("_meta");
    members.shift_remove("resultType");
    serde_json::from_value(members.into())
}

/// The task in the response to a task request on 2025-11-25, or `None` if it is the result of the
/// call (TSK-08).
pub(super) fn created_task(result: &RawJson) -> Option<Result<Task, serde_json::Error>> {
    let members: JsonObject = result.parse().ok()?;
    let task = members.get("task").filter(|task| task.get("taskId").is_some())?;
    Some(RawJson::from_value(task).and_then(|task| read_task(&task)))
}

/// The result of a task method, with its tasks converted to the form of the extension.
pub(in crate::client) fn unified(method: &str, result: RawJson) -> RawJson {
    if !matches!(method, method::TASKS_GET | method::TASKS_CANCEL | method::TASKS_LIST) {
        return result;
    }
    let Ok(mut members) = result.parse::<JsonObject>() else { return result };
    match members.get_mut("tasks").and_then(Value::as_array_mut) {
        Some(tasks) => tasks.iter_mut().filter_map(Value::as_object_mut).for_each(unify),
        None => unify(&mut members),
    }
    RawJson::from_value(&members).unwrap_or(result)
}

/// Renames the members of 2025-11-25 to those of the extension.
fn unify(task: &mut JsonObject) {
    for (old, new) in [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs")] {
        if let Some(value) = task.shift_remove(old) {
            task.insert(new.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    #[test]
    fn both_forms_of_a_task_are_read() {
        let task = |ttl: &str, interval: &str| {
            read_task(&raw(&json!({"taskId": "t", "status": "working", "createdAt": "a", "lastUpdatedAt": "b", ttl: 5,
                interval: 7, "_meta": {"x": 1}, "resultType": "complete"})))
            .unwrap()
        };
        let modern = task("ttlMs", "pollIntervalMs");
        assert_eq!(modern, task("ttl", "pollInterval"));
        assert_eq!((modern.ttl_ms, modern.poll_interval_ms, modern.extra.len()), (Some(5), Some(7), 0));
    }

    #[test]
    fn lists_of_tasks_are_in_one_form_and_other_results_are_left_alone() {
        let list = raw(&json!({"tasks": [{"taskId": "t", "ttl": null}], "nextCursor": "c"}));
        let unified_list: Value = unified(method::TASKS_LIST, list.clone()).parse().unwrap();
        assert_eq!(unified_list, json!({"tasks": [{"taskId": "t", "ttlMs": null}], "nextCursor": "c"}));
        assert_eq!(unified(method::TASKS_RESULT, list.clone()), list);
    }

    #[test]
    fn tsk_08_a_result_without_a_task_is_that_of_the_call() {
        assert!(created_task(&raw(&json!({"content": []}))).is_none());
        assert!(created_task(&raw(&json!({"content": [], "task": "mine"}))).is_none());
        assert!(created_task(&raw(&json!({"task": {"taskId": 5}}))).unwrap().is_err());
    }
}

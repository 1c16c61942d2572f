//! Converts tasks of every revision to the form of the extension.

use super::{odd_results::mended_params, read_result::readable};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        RawJson,
        describe::{Described, Type},
        method,
        model::Task,
    },
};

/// Parses a task of either form, which is in a message of this method. `server` is its sender for
/// the log.
pub(in crate::client) fn read_task(server: Option<&str>, method: &str, json: &RawJson) -> Result<Task, String> {
    let mut members: ObjectMembers = json.read()?;
    unify(&mut members);
    // Belongs to the message, not to the task.
    members.shift_remove("_meta");
    members.shift_remove("resultType");
    let Type::Model(model) = Task::TYPE else { return readable(json) };
    readable(&mended_params(server, method, model, members).map_err(|fault| fault.to_string())?)
}

/// The task in the response to a task request on 2025-11-25, as it was written, or `None` if it is
/// the result of the call (TSK-08).
pub(in crate::client) fn created_task(result: &RawJson) -> Option<RawJson> {
    let members: ObjectMembers = result.parse().ok()?;
    let task: ObjectMembers = serde_json::from_str(members.get("task")?.get()).ok()?;
    task.contains_key("taskId").then(|| RawJson::object(&task))
}

/// The id of that task.
pub(in crate::client) fn created_task_id(result: &RawJson) -> Option<String> {
    rewriting::text(&created_task(result)?.parse().ok()?, "taskId")
}

/// The result of a task method, with its tasks converted to the form of the extension.
pub(in crate::client) fn unified(method: &str, result: RawJson) -> RawJson {
    if !matches!(method, method::TASKS_GET | method::TASKS_CANCEL | method::TASKS_LIST) {
        return result;
    }
    let Ok(mut members) = result.parse::<ObjectMembers>() else { return result };
    let unified = rewriting::in_member(&mut members, "tasks", |tasks: &mut Vec<ObjectMembers>| {
        tasks.iter_mut().for_each(unify);
        Some(())
    });
    if unified.is_none() {
        unify(&mut members);
    }
    RawJson::object(&members)
}

/// Renames the members of 2025-11-25 to those of the extension.
fn unify(task: &mut ObjectMembers) {
    for (old, new) in [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs")] {
        if let Some(value) = task.shift_remove(old) {
            task.insert(new.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    #[test]
    fn both_forms_of_a_task_are_read() {
        let task = |ttl: &str, interval: &str| {
            read_task(
                None,
                method::TASKS_GET,
                &raw(&json!({"taskId": "t", "status": "working", "createdAt": "a", "lastUpdatedAt": "b", ttl: 5,
                interval: 7, "_meta": {"x": 1}, "resultType": "complete"})),
            )
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
        let unnamed = raw(&json!({"task": {"taskId": 5}}));
        assert!(created_task(&unnamed).is_some() && created_task_id(&unnamed).is_none());
    }
}

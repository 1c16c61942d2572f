//! Validates a server's requests about host tasks (2025-11-25) against the declared capabilities.

use crate::protocol::{RpcError, method};
use serde_json::Value;
use std::time::Duration;

/// A requested task: `task` in the parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskMetadata {
    /// How long to keep it; by default the receiver decides.
    pub ttl: Option<Duration>,
}

pub(super) fn is_about_tasks(name: &str) -> bool {
    matches!(name, method::TASKS_GET | method::TASKS_RESULT | method::TASKS_CANCEL | method::TASKS_LIST)
}

/// Refuses a task method that the client has not declared (TSK-01, RPC-32).
pub(super) fn check_declared(name: &str, capabilities: &Value) -> Result<(), RpcError> {
    let path = match name {
        method::TASKS_LIST => "/tasks/list",
        method::TASKS_CANCEL => "/tasks/cancel",
        _ => "/tasks/requests",
    };
    if is_declared(capabilities, path) {
        return Ok(());
    }
    let capability = path.trim_start_matches('/').replace('/', ".");
    Err(RpcError::method_not_found(&format!("{name} (the client did not declare the capability {capability})")))
}

/// The task that a request asks for. The parameter is ignored if the client has not declared tasks
/// for this method (TSK-08).
pub(super) fn requested(name: &str, params: &Value, capabilities: &Value) -> Result<Option<TaskMetadata>, RpcError> {
    let given = params.get("task").filter(|task| !task.is_null());
    let Some(task) = given.filter(|_| is_declared(capabilities, &format!("/tasks/requests/{name}"))) else {
        return Ok(None);
    };
    let wrong = |what: &str| RpcError::invalid_params(format!("params/task{what}"));
    let ttl = match task.as_object().ok_or_else(|| wrong(" must be an object"))?.get("ttl") {
        // The official TypeScript SDK has `null` for a task without a limit.
        None | Some(Value::Null) => None,
        Some(ttl) => Some(ttl.as_u64().ok_or_else(|| wrong("/ttl must be a whole number of milliseconds"))?),
    };
    Ok(Some(TaskMetadata { ttl: ttl.map(Duration::from_millis) }))
}

fn is_declared(capabilities: &Value, path: &str) -> bool {
    capabilities.pointer(path).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::error::code;
    use serde_json::json;

    const ELICIT: &str = method::ELICITATION_CREATE;

    #[test]
    fn tsk_01_each_method_needs_its_capability() {
        let declared = json!({"tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}});
        for name in [method::TASKS_GET, method::TASKS_RESULT, method::TASKS_LIST, method::TASKS_CANCEL] {
            assert!(is_about_tasks(name));
            assert_eq!(check_declared(name, &declared), Ok(()));
            for nothing in [json!({}), json!({"tasks": {}}), json!({"tasks": true})] {
                assert_eq!(check_declared(name, &nothing).unwrap_err().code, code::METHOD_NOT_FOUND, "{name}");
            }
        }
        assert!(!is_about_tasks(ELICIT));
    }

    #[test]
    fn tsk_08_who_has_not_declared_tasks_does_not_know_the_parameter() {
        let params = json!({"task": {"ttl": 1500}});
        let of = |requests: Value| requested(ELICIT, &params, &json!({"tasks": {"requests": requests}}));
        let task = TaskMetadata { ttl: Some(Duration::from_millis(1500)) };
        assert_eq!(of(json!({"elicitation": {"create": {}}})), Ok(Some(task)));
        assert_eq!(of(json!({"sampling": {"createMessage": {}}})), Ok(None));
        assert_eq!(requested(ELICIT, &json!({"task": 5}), &json!({})), Ok(None));
    }

    #[test]
    fn a_malformed_task_is_refused() {
        let declared = json!({"tasks": {"requests": {"elicitation": {"create": {}}}}});
        let task = |task: Value| requested(ELICIT, &json!({"task": task}), &declared);
        for unlimited in [json!({}), json!({"ttl": null})] {
            assert_eq!(task(unlimited), Ok(Some(TaskMetadata::default())));
        }
        assert_eq!(requested(ELICIT, &json!({}), &declared), Ok(None));
        assert_eq!(task(Value::Null), Ok(None));
        for wrong in [json!(5), json!([]), json!({"ttl": -1}), json!({"ttl": 1.5}), json!({"ttl": "5"})] {
            assert_eq!(task(wrong.clone()).unwrap_err().code, code::INVALID_PARAMS, "{wrong}");
        }
    }
}

//! The methods of tasks, in both forms.

use super::task::Task;
use crate::{
    protocol::{Feature, RawJson, RpcError, extension, method},
    server::serving::{Prepared, Serving},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// `tasks/get`
pub(in crate::server) fn get(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let task = named(serving, params)?;
    let shown = task.to_json(serving.scope.revision);
    Ok(Prepared::Answer(serving.server().seal_object(shown, serving.scope.revision)))
}

/// `tasks/result` (2025-11-25): answered when the task is over.
pub(in crate::server) fn result(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let task = named(serving, params)?;
    Ok(Prepared::Later(Box::new(move |serving, sink| task.fetch(serving, sink))))
}

/// `tasks/cancel`
pub(in crate::server) fn cancel(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let task = named(serving, params)?;
    let cancelled = task.cancel("the client cancelled the task");
    if serving.scope.revision.supports(Feature::TasksExtension) {
        // TKX-17, TKX-36: the same acknowledgement, whatever has become of the task.
        return Ok(acknowledged(serving));
    }
    if !cancelled {
        // TSK-29
        return Err(RpcError::invalid_params(format!("The task {} is over already", task.id())));
    }
    get(serving, params)
}

/// `tasks/update` (2026-07-28): answers to what the task asks.
pub(in crate::server) fn update(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    #[derive(Deserialize)]
    struct UpdateParams {
        #[serde(rename = "inputResponses")]
        responses: Option<Map<String, Value>>,
    }
    let task = named(serving, params)?;
    let given: UpdateParams = params
        .ok_or_else(RpcError::internal)?
        .parse()
        .map_err(|_| RpcError::invalid_params("tasks/update: inputResponses must be an object"))?;
    task.update(given.responses.unwrap_or_default());
    Ok(acknowledged(serving))
}

/// `tasks/list` (2025-11-25)
pub(in crate::server) fn list(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    #[derive(Deserialize, Default)]
    struct ListParams {
        cursor: Option<String>,
    }
    check_offered(serving)?;
    let given: ListParams = match params {
        Some(params) => params.read().map_err(|problem| RpcError::invalid_params(format!("tasks/list: {problem}")))?,
        None => ListParams::default(),
    };
    let after = match &given.cursor {
        None => 0,
        Some(cursor) => parse_cursor(cursor).ok_or_else(RpcError::invalid_cursor)?,
    };
    let (server, revision) = (serving.server(), serving.scope.revision);
    let (page, more) = server.tasks().page(after, server.options().page_size, &serving.owner());
    let tasks: Vec<_> = page.iter().map(|task| task.to_json(revision)).collect();
    let mut result = json!({"tasks": tasks});
    if let (true, Some(last)) = (more, page.last()) {
        result["nextCursor"] = cursor(last.number()).into();
    }
    Ok(Prepared::Answer(server.seal_object(result, revision)))
}

fn cursor(after: u64) -> String {
    format!("tasks-{after:x}")
}

fn parse_cursor(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text.strip_prefix("tasks-")?, 16).ok()?;
    (cursor(number) == text).then_some(number)
}

fn acknowledged(serving: &Serving) -> Prepared {
    Prepared::Answer(serving.server().seal_object(json!({}), serving.scope.revision))
}

/// The task that the parameters name, if this client may see it (TSK-31, TKX-20).
fn named(serving: &Serving, params: Option<&RawJson>) -> Result<Arc<Task>, RpcError> {
    #[derive(Deserialize, Default)]
    struct TaskParams {
        #[serde(rename = "taskId")]
        id: Option<Value>,
    }
    let declared = check_offered(serving);
    // TKX-50: who knows the older form only may still ask for what was made in it.
    let may_know_older = serving.offers_tasks()
        && matches!(serving.method, method::TASKS_GET | method::TASKS_CANCEL)
        && serving.client_capabilities().get("tasks").is_some_and(Value::is_object);
    if !may_know_older {
        declared.clone()?;
    }
    let given: TaskParams = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let id = given
        .id
        .as_ref()
        .and_then(Value::as_str)
        .ok_or_else(|| RpcError::invalid_params(format!("{} needs the string parameter taskId", serving.method)))?;
    let found = serving.server().tasks().find(id, &serving.owner());
    match declared {
        Err(undeclared) if !found.as_ref().is_ok_and(|task| task.is_of_session()) => Err(undeclared),
        _ => found,
    }
}

/// Whether this client may speak of tasks at all (TKX-21, TKX-26, TKX-49).
fn check_offered(serving: &Serving) -> Result<(), RpcError> {
    if !serving.offers_tasks() {
        return Err(RpcError::method_not_found(serving.method));
    }
    if serving.scope.revision.supports(Feature::TasksExtension)
        && !extension::TASKS.is_in(&serving.client_capabilities())
    {
        return Err(RpcError::missing_client_capability(extension::TASKS.required()));
    }
    Ok(())
}

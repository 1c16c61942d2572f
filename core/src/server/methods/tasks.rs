//! The task methods, in both forms.

use crate::{
    protocol::{RawJson, RevisionFeature, RpcError, extension, method},
    server::request::{ActiveRequest, Routed, Task, TaskElsewhere, view_at_end},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// `tasks/get`
pub(super) fn get(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    match named(context, params)? {
        NamedTask::Here(task) => Ok(view(context, &task)),
        NamedTask::Elsewhere(task) => Ok(task.view()),
    }
}

/// `tasks/result` (2025-11-25): the response is sent when the task has ended.
pub(super) fn result(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    match named(context, params)? {
        NamedTask::Here(task) => {
            Ok(Routed::Deferred(Box::new(move |context, responder| task.fetch(context, responder))))
        }
        NamedTask::Elsewhere(task) => Ok(task.fetched()),
    }
}

/// `tasks/cancel`
pub(super) fn cancel(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let task = match named(context, params)? {
        NamedTask::Here(task) => task,
        NamedTask::Elsewhere(task) => return Ok(task.cancelled()),
    };
    let cancelled = task.cancel("the client cancelled the task");
    if context.info.revision.supports(RevisionFeature::TasksExtension) {
        // TKX-17, TKX-36: the acknowledgement is the same whatever the state of the task.
        return Ok(acknowledged(context));
    }
    if !cancelled {
        // TSK-29: a task that has ended cannot be cancelled.
        return Err(RpcError::invalid_params(format!("The task {} has already ended", task.id())));
    }
    Ok(if task.is_announced() { view(context, &task) } else { view_at_end(task) })
}

/// `tasks/update` (2026-07-28): responses to the input requests of a task.
pub(super) fn update(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct UpdateParams {
        #[serde(rename = "inputResponses")]
        responses: Option<Map<String, Value>>,
    }
    let task = named(context, params)?;
    let given: UpdateParams = params
        .ok_or_else(RpcError::internal)?
        .parse()
        .map_err(|_| RpcError::invalid_params("tasks/update: inputResponses must be an object"))?;
    let responses = given.responses.unwrap_or_default();
    match task {
        NamedTask::Here(task) => task.update(responses),
        NamedTask::Elsewhere(task) => return Ok(task.updated(responses)),
    }
    Ok(acknowledged(context))
}

/// `tasks/list` (2025-11-25)
pub(super) fn list(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    #[derive(Deserialize, Default)]
    struct ListParams {
        cursor: Option<String>,
    }
    check_offered(context)?;
    let given: ListParams = match params {
        Some(params) => params.read().map_err(|problem| RpcError::invalid_params(format!("tasks/list: {problem}")))?,
        None => ListParams::default(),
    };
    let after = match &given.cursor {
        None => 0,
        Some(cursor) => parse_cursor(cursor).ok_or_else(RpcError::invalid_cursor)?,
    };
    let (server, revision) = (context.server(), context.info.revision);
    let owner = context.owner();
    // Without a principal, tasks belong to a session, which other processes identify by its id.
    let is_known_elsewhere = !owner.principal.is_empty() || owner.session_id.is_some();
    if let (Some(stored), true) = (context.stored_tasks()?, is_known_elsewhere) {
        return Ok(stored.listed(after, server.options().page_size, owner, cursor));
    }
    let (page, more) = context.services.tasks.page(after, server.options().page_size, &owner);
    let tasks: Vec<_> = page.iter().map(|task| task.to_json(revision)).collect();
    let mut result = json!({"tasks": tasks});
    if let (true, Some(last)) = (more, page.last()) {
        result["nextCursor"] = cursor(last.number()).into();
    }
    Ok(Routed::Answer(server.results().seal_object(result, revision)))
}

fn cursor(after: u64) -> String {
    format!("tasks-{after:x}")
}

fn parse_cursor(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text.strip_prefix("tasks-")?, 16).ok()?;
    (cursor(number) == text).then_some(number)
}

fn acknowledged(context: &ActiveRequest) -> Routed {
    Routed::Answer(context.results().seal_object(json!({}), context.info.revision))
}

/// A task, either of this process or of another one.
enum NamedTask {
    Here(Arc<Task>),
    Elsewhere(TaskElsewhere),
}

fn view(context: &ActiveRequest, task: &Task) -> Routed {
    Routed::Answer(task.to_result(context.results(), context.info.revision))
}

/// Finds the task named by the parameters, if this client may access it (TSK-31, TKX-20).
fn named(context: &ActiveRequest, params: Option<&RawJson>) -> Result<NamedTask, RpcError> {
    #[derive(Deserialize, Default)]
    struct TaskParams {
        #[serde(rename = "taskId")]
        id: Option<Value>,
    }
    let declared = check_offered(context);
    // TKX-50: a client that only knows the older form can still access tasks created in that form.
    let may_know_older = context.offers_tasks()
        && matches!(context.method, method::TASKS_GET | method::TASKS_CANCEL)
        && context.client_capabilities().get("tasks").is_some_and(Value::is_object);
    if !may_know_older {
        declared.clone()?;
    }
    let given: TaskParams = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let id = given
        .id
        .as_ref()
        .and_then(Value::as_str)
        .ok_or_else(|| RpcError::invalid_params(format!("{} needs the string parameter taskId", context.method)))?;
    let found = context.services.tasks.find(id, &context.owner());
    if let (Err(_), Some(stored)) = (&found, context.stored_tasks()?) {
        let elsewhere = TaskElsewhere::new(Arc::clone(stored), id.to_owned(), context.owner(), declared.err());
        return Ok(NamedTask::Elsewhere(elsewhere));
    }
    match declared {
        Err(undeclared) if !found.as_ref().is_ok_and(|task| task.is_of_session()) => Err(undeclared),
        _ => found.map(NamedTask::Here),
    }
}

/// Checks that this client may use task methods at all (TKX-21, TKX-26, TKX-49).
fn check_offered(context: &ActiveRequest) -> Result<(), RpcError> {
    if !context.offers_tasks() {
        return Err(RpcError::method_not_found(context.method));
    }
    if context.info.revision.supports(RevisionFeature::TasksExtension)
        && !extension::TASKS.is_in(&context.client_capabilities())
    {
        return Err(RpcError::missing_client_capability(extension::TASKS.required()));
    }
    Ok(())
}

//! The task methods, in both forms.

use super::{
    pages::{Position, cursor, read_position},
    parameters,
};
use crate::{
    protocol::{RawJson, RevisionFeature, RpcError, extension, method},
    server::request::{ActiveRequest, NamedTask, Routed, Task},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// `tasks/get`
pub(super) fn get(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let task = named(context, params)?;
    Ok(Routed::when_done(move |context| async move {
        Ok(task.find().await?.view().to_result(context.results(), context.info.revision))
    }))
}

/// `tasks/result` (2025-11-25): the response is sent when the task has ended.
pub(super) fn result(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    Ok(match named(context, params)? {
        NamedTask::Here(task) => Routed::Deferred(Box::new(move |context, responder| task.fetch(context, responder))),
        NamedTask::Elsewhere(task) => Routed::when_done(move |context| task.outcome(context)),
    })
}

/// `tasks/cancel`
pub(super) fn cancel(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let task = named(context, params)?;
    Ok(Routed::when_done(move |context| async move {
        let (mut task, is_core) = (task.find().await?, Task::is_core(context.info.revision));
        match task.cancel(&context, is_core).await? {
            // TKX-17, TKX-36: the acknowledgement is the same whatever the state of the task.
            _ if !is_core => Ok(acknowledged(&context)),
            true => Ok(task.view().to_result(context.results(), context.info.revision)),
            // TSK-29: a task that has ended cannot be cancelled.
            false => Err(RpcError::invalid_params(format!("The task {} has already ended", task.view().id()))),
        }
    }))
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
    Ok(Routed::when_done(move |context| async move {
        task.find().await?.update(responses).await?;
        Ok(acknowledged(&context))
    }))
}

/// `tasks/list` (2025-11-25)
pub(super) fn list(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    check_offered(context)?;
    let Position::Registered(after) = read_position(method::TASKS_LIST, "tasks", params)? else {
        return Err(RpcError::invalid_cursor());
    };
    Ok(Routed::when_done(move |context| async move {
        let (page, next) = context.task_page(after).await?;
        let revision = context.info.revision;
        let tasks: Vec<_> = page.iter().map(|task| task.to_json(revision)).collect();
        let mut result = json!({"tasks": tasks});
        if let Some(next) = next {
            result["nextCursor"] = cursor("tasks", &Position::Registered(next)).into();
        }
        Ok(context.results().seal_object(result, revision))
    }))
}

fn acknowledged(context: &ActiveRequest) -> RawJson {
    context.results().seal_object(json!({}), context.info.revision)
}

/// Finds the task named by the parameters, if this client may access it (TSK-31, TKX-20).
fn named(context: &ActiveRequest, params: Option<&RawJson>) -> Result<NamedTask, RpcError> {
    let declared = check_offered(context);
    // TKX-50: a client that only knows the older form can still access tasks created in that form.
    let may_know_older = context.offers_tasks()
        && matches!(context.method, method::TASKS_GET | method::TASKS_CANCEL)
        && context.client_capabilities().get("tasks").is_some_and(Value::is_object);
    if !may_know_older {
        declared.clone()?;
    }
    context.named_task(&parameters::text(context, params, "taskId")?, declared.err())
}

/// Checks that this client may use task methods at all (TKX-21, TKX-26, TKX-49).
fn check_offered(context: &ActiveRequest) -> Result<(), RpcError> {
    context.check_offered(context.offers_tasks())?;
    if context.info.revision.supports(RevisionFeature::TasksExtension)
        && !extension::TASKS.is_in(&context.client_capabilities())
    {
        return Err(RpcError::missing_client_capability(extension::TASKS.required()));
    }
    Ok(())
}

//! The task methods, in both forms.

use super::{
    pages::{Position, cursor, read_position},
    parameters,
};
use crate::{
    protocol::{RawJson, RevisionFeature, RpcError, extension, method},
    server::request::{ActiveRequest, Routed, Task},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// `tasks/get`
pub(super) fn get(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let (id, undeclared) = named(context, params)?;
    Ok(Routed::when_done(move |context| async move {
        let task = context.named_task(&id, undeclared).await?;
        Ok(task.view(&context).await?.to_result(context.results(), context.info.revision))
    }))
}

/// `tasks/result` (2025-11-25): the response is sent when the task has ended.
pub(super) fn result(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let (id, undeclared) = named(context, params)?;
    Ok(Routed::when_done(move |context| async move {
        let task = context.named_task(&id, undeclared).await?;
        task.outcome(&context).await
    }))
}

/// `tasks/cancel`
pub(super) fn cancel(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let (id, undeclared) = named(context, params)?;
    Ok(Routed::when_done(move |context| async move {
        let mut task = context.named_task(&id, undeclared).await?;
        let is_core = Task::is_core(context.info.revision);
        match task.cancel(&context, is_core).await? {
            // TKX-17, TKX-36: the acknowledgement is the same whatever the state of the task.
            _ if !is_core => Ok(acknowledged(&context)),
            true => Ok(task.view(&context).await?.to_result(context.results(), context.info.revision)),
            // TSK-29: a task that has ended cannot be cancelled.
            false => Err(RpcError::invalid_params(format!("The task {} has already ended", task.id()))),
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
    let (id, undeclared) = named(context, params)?;
    let given = params
        .ok_or_else(RpcError::internal)?
        .parse::<UpdateParams>()
        .map_err(|_| RpcError::invalid_params("tasks/update: inputResponses must be an object"));
    Ok(Routed::when_done(move |context| async move {
        let task = context.named_task(&id, undeclared).await?;
        task.update(given?.responses.unwrap_or_default()).await?;
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

/// The id of the task named by the parameters, and the error if it is not that of a session and the
/// client has not declared the tasks extension.
fn named(context: &ActiveRequest, params: Option<&RawJson>) -> Result<(String, Option<RpcError>), RpcError> {
    let declared = check_offered(context);
    // TKX-50: a client that only knows the older form can still access tasks created in that form.
    let may_know_older = context.offers_tasks()
        && matches!(context.method, method::TASKS_GET | method::TASKS_CANCEL)
        && context.client_capabilities().get("tasks").is_some_and(Value::is_object);
    if !may_know_older {
        declared.clone()?;
    }
    Ok((parameters::text(context, params, "taskId")?, declared.err()))
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

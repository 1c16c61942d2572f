//! Leniency towards odd requests and notifications of servers, the same as towards their results
//! ([`odd_results`](super::odd_results)). One that cannot be used is refused, or dropped with a
//! warning.

use super::{odd_results::mended_params, odd_value::Fault, task_form::read_task};
use crate::{
    composition::rewriting::ObjectMembers,
    printable::{MAX_LENGTH, line},
    protocol::{
        RawJson,
        describe::{FieldDescription, ObjectDescription, Type},
        envelope::{Message, Notification},
        method,
        operation::{HostOperation, NOTIFICATIONS, OperationParams},
        well_typed::is_well_typed,
    },
};
use serde_json::Value;

/// The parameters of messages that need none.
static NO_PARAMS: ObjectDescription = ObjectDescription {
    name: "NoParams",
    doc: &[],
    tag: None,
    fields: &[FieldDescription { json: "_meta", ty: Type::Object, ..FieldDescription::EMPTY }],
    open: true,
};

/// The parameters as every language can read them; unchanged, and as written, if they have no
/// oddities. `server` is their sender for the log.
///
/// # Errors
/// If what they lack leaves nothing to deliver.
pub(in crate::client) fn usable_params(server: Option<&str>, method: &str, params: &RawJson) -> Result<RawJson, Fault> {
    let Some(model) = model_of(method, params) else { return Ok(params.clone()) };
    if is_well_typed(Type::Model(model), None, params.as_bytes()) {
        return Ok(params.clone());
    }
    match params.parse::<ObjectMembers>() {
        Ok(members) => mended_params(server, method, model, members),
        Err(_) => Ok(params.clone()),
    }
}

/// Mends a request before it is checked. If its parameters cannot be used, it stays as it is, and
/// the reason is returned.
pub(in crate::client) fn mend_request(server: Option<&str>, message: &mut Message) -> Option<Fault> {
    let Message::Request(request) = message else { return None };
    let params = request.params.as_mut()?;
    match usable_params(server, &request.method, params) {
        Ok(usable) => *params = usable,
        Err(fault) => return Some(fault),
    }
    None
}

/// The notification as every language can read it, with a task in the form of the extension.
/// `None`, with a warning, if it cannot be used.
pub(in crate::client) fn usable_notification(server: Option<&str>, notification: Notification) -> Option<Notification> {
    let Notification { method, params } = notification;
    let usable = match (&*method, &params) {
        (method::TASKS_STATUS | method::TASKS_CHANGED, Some(task)) => {
            read_task(server, &method, task).map(|task| Some(RawJson::object(&task)))
        }
        (_, Some(params)) => usable_params(server, &method, params).map(Some).map_err(|fault| fault.to_string()),
        (_, None) if needs_params(&method) => Err("it has no params".to_owned()),
        (_, None) => Ok(None),
    };
    match usable {
        Ok(params) => Some(Notification { method, params }),
        Err(problem) => {
            let error = line(&problem, MAX_LENGTH);
            tracing::warn!(target: "trunkline::client::connection", server, method = &*method, error, "ignored a notification that cannot be used");
            None
        }
    }
}

fn model_of(method: &str, params: &RawJson) -> Option<&'static ObjectDescription> {
    let ty = match NOTIFICATIONS.iter().find(|notification| notification.method == method) {
        Some(notification) => notification.params,
        None if method == method::ROOTS_LIST => None,
        None if method::INPUT_REQUESTS.contains(&method) => {
            let given: Value = params.parse().unwrap_or_default();
            let name = HostOperation::answering(method, &given).first()?;
            let OperationParams::Of(ty) = HostOperation::named(name)?.operation.params else { return None };
            Some(ty)
        }
        None => return None,
    };
    match ty {
        Some(Type::Model(model)) => Some(model),
        _ => Some(&NO_PARAMS),
    }
}

fn needs_params(method: &str) -> bool {
    NOTIFICATIONS.iter().any(|notification| notification.method == method && notification.params.is_some())
        || method == method::TASKS_CHANGED
}

//! What a host says without asking: a handler while it runs, and a server to its clients.

use super::{
    BridgeError,
    config::{CallNoticeConfig, NotificationConfig},
};
use crate::{
    protocol::method,
    server::{CallFacts, Category, Server},
};
use serde_json::Value;

/// What a handler says while it runs.
pub(super) fn of_call(facts: &CallFacts, given: CallNoticeConfig) {
    if let Some(progress) = given.progress {
        facts.progress(progress, given.total, given.message.as_deref());
    }
    if let Some(log) = given.log {
        facts.log(log.level, log.logger.as_deref(), &log.data);
    }
    if let Some(once) = given.once {
        facts.keep(&once.name, once.value);
    }
    if given.close_stream {
        facts.close_stream();
    }
    if given.start_task {
        facts.start_task();
    }
    if let Some(message) = given.task_message {
        facts.set_task_message(&message);
    }
}

/// What a server tells its clients beyond what its catalog says by itself.
pub(super) fn of_server(server: &Server, given: NotificationConfig) -> Result<(), BridgeError> {
    let text = |member: &str| {
        let params = given.params.as_ref();
        let text = params.and_then(|params| params.get(member)).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| BridgeError::invalid(format!("notify: {} needs the string params.{member}", given.method)))
    };
    match given.method.as_str() {
        method::RESOURCES_UPDATED => server.resource_updated(&text("uri")?),
        method::ELICITATION_COMPLETE => drop(server.elicitation_complete(&text("elicitationId")?)),
        method::TOOLS_LIST_CHANGED => server.list_changed(Category::Tools),
        method::RESOURCES_LIST_CHANGED => server.list_changed(Category::Resources),
        method::PROMPTS_LIST_CHANGED => server.list_changed(Category::Prompts),
        other => return Err(BridgeError::invalid(format!("notify: a server does not send {other} by itself"))),
    }
    Ok(())
}

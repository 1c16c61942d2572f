//! One-way messages from the host: notifications of handlers and of servers.

use super::{
    BridgeError, config,
    message::{NotifyCall, NotifyConnection, NotifyServer},
};
use trunkline::{
    client::Client,
    protocol::RawJson,
    server::{CallInfo, Server},
};

/// Notifications of a handler while it runs.
pub(super) fn of_call(facts: &CallInfo, given: NotifyCall) {
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

/// Notifications of a server beyond those that its registry sends by itself.
pub(super) fn of_server(server: &Server, given: NotifyServer) -> Result<(), BridgeError> {
    if let Some(list) = given.list_changed {
        server.list_changed(config::category(&list)?);
    }
    if let Some(uri) = given.resource_updated {
        server.resource_updated(&uri);
    }
    if let Some(id) = given.elicitation_complete {
        server.elicitation_complete(&id);
    }
    Ok(())
}

/// A notification of a client.
pub(super) fn of_connection(client: &Client, given: &NotifyConnection) -> Result<(), BridgeError> {
    let params = given.params.as_ref().map(RawJson::from_value).transpose();
    let params = params.map_err(|error| BridgeError::invalid(format!("notify: {error}")))?;
    client.notify(&given.method, params.as_ref()).map_err(BridgeError::from)
}

//! One-way messages from the host: notifications of handlers, servers and clients, and settings.

use crate::{
    BridgeError, PortState,
    host::{self, function::Host, server_requests},
    host_json,
    message::{Notification, NotifyCall, NotifyConnection, NotifyFeature, NotifyPort, NotifyServer},
    open::process_exit,
    process::log_forwarding,
    state::{
        entries::{Connection, OpenState, WaitingMessage},
        tables::HandleKind,
    },
};
use std::sync::Arc;
use trunkline::{
    client::ClientError,
    protocol::RawJson,
    server::{CallInfo, Server},
};

impl Notification {
    /// Reads a notification. Its meaning depends on the target.
    pub(crate) fn read(target: u64, json: &[u8]) -> Result<Self, BridgeError> {
        let what = "notify";
        Ok(match HandleKind::of(target) {
            Some(HandleKind::Server) => Self::Server(host_json::read(what, json)?),
            Some(HandleKind::Feature) => Self::Feature(host_json::read(what, json)?),
            Some(HandleKind::Listener) => Self::Listener(host_json::read(what, json)?),
            Some(HandleKind::Connection) => Self::Connection(host_json::read(what, json)?),
            None if target == 0 => Self::Port(host_json::read(what, json)?),
            _ => Self::Call(host_json::read(what, json)?),
        })
    }
}

/// Passes a notification to its target. If there is none, the call has just ended or the number is
/// wrong, which only the host can tell apart.
pub(crate) fn notify(state: &Arc<PortState>, target: u64, given: Notification) -> Result<(), BridgeError> {
    match (HandleKind::of(target), given) {
        (None, Notification::Port(given)) => of_port(state, &given),
        (Some(HandleKind::Call), Notification::Call(given)) => {
            if let Some(info) = state.call_info(target) {
                of_call(&info, given);
            }
            Ok(())
        }
        (Some(HandleKind::Server), Notification::Server(given)) => {
            let server = state.tables.lock().servers.get(target).cloned();
            server.map_or(Ok(()), |server| of_server(&server, given))
        }
        (Some(HandleKind::Feature), Notification::Feature(NotifyFeature { enabled: Some(is_enabled) })) => {
            let tables = state.tables.lock();
            let feature = tables.features.get(target).and_then(|it| Some(it.server.feature::<()>(it.id?)));
            drop(tables);
            let _was_there = feature.is_some_and(|feature| feature.set_enabled(is_enabled));
            Ok(())
        }
        (Some(HandleKind::Listener), Notification::Listener(given)) if given.foreground => {
            process_exit::end_by_signals(state, target)
        }
        (Some(HandleKind::Connection), Notification::Connection(given)) => to_connection(state, target, given),
        _ => Ok(()),
    }
}

fn of_port(state: &PortState, given: &NotifyPort) -> Result<(), BridgeError> {
    if let Some(level) = given.log_level {
        log_forwarding::set_level(level);
    }
    if given.telemetry {
        let servers: Vec<_> = state.tables.lock().servers.iter().map(|(_, server)| server.clone()).collect();
        state.telemetry.begin(&servers);
    }
    Ok(())
}

/// Passes a message to a connection. If it has a span and cannot be sent, the span ends here.
fn to_connection(state: &Arc<PortState>, target: u64, given: NotifyConnection) -> Result<(), BridgeError> {
    let number = given.span.as_ref().map(|span| span.number);
    let notified = send_or_wait(state, target, given);
    let refused = match &notified {
        Ok(true) => None,
        Ok(false) => Some(ClientError::Closed),
        Err(error) => Some(ClientError::Invalid(error.message.clone())),
    };
    if let (Some(number), Some(error)) = (number, refused) {
        state.telemetry.refuse(number, error);
    }
    notified.map(drop)
}

/// Returns `false` if the connection no longer exists.
fn send_or_wait(state: &Arc<PortState>, target: u64, given: NotifyConnection) -> Result<bool, BridgeError> {
    let has_settings = given.handlers.is_some() || given.roots.is_some();
    if given.method.is_none() && (given.params.is_some() || !has_settings) {
        return Err(BridgeError::invalid("notify: method is missing"));
    }
    let connection = match state.tables.lock().connections.get_mut(target) {
        Some(OpenState::Open(thing)) => thing.clone(),
        Some(OpenState::Opening { waiting, .. }) => {
            WaitingMessage::check_room(waiting)?;
            waiting.push(WaitingMessage::Notification(given));
            return Ok(true);
        }
        None => return Ok(false),
    };
    of_connection(state, target, &connection, given).map(|()| true)
}

/// Notifications from a running handler.
fn of_call(call: &CallInfo, given: NotifyCall) {
    if let Some(progress) = given.progress {
        call.progress(progress, given.total, given.message.as_deref());
    }
    if let Some(log) = given.log {
        call.log(log.level, log.logger.as_deref(), &log.data);
    }
    if let Some(once) = given.once {
        call.memoize(&once.name, once.value);
    }
    if given.close_stream {
        call.close_stream();
    }
    if given.start_task {
        call.start_task();
    }
    if let Some(message) = given.task_message {
        call.set_task_message(&message);
    }
}

/// Notifications from a server, in addition to those that its registry sends automatically.
fn of_server(server: &Server, given: NotifyServer) -> Result<(), BridgeError> {
    if let Some(list) = given.list_changed {
        server.list_changed(host_json::category(&list)?);
    }
    if let Some(uri) = given.resource_updated {
        server.resource_updated(&uri);
    }
    if let Some(id) = given.elicitation_complete {
        server.elicitation_complete(&id);
    }
    Ok(())
}

/// A notification from a client.
pub(crate) fn of_connection(
    state: &Arc<PortState>,
    handle: u64,
    connection: &Connection,
    given: NotifyConnection,
) -> Result<(), BridgeError> {
    if let Some(handlers) = given.handlers {
        host::check_opened(&connection.functions, &handlers)?;
        let operations = server_requests::operations(&handlers)?;
        connection.set_handlers(server_requests::handlers(&Host::of(state, handle), operations))?;
    }
    if let Some(roots) = given.roots {
        connection.set_roots(roots)?;
    }
    if let Some(method) = given.method {
        let params = given.params.as_ref().map(RawJson::from_value).transpose();
        let params = params.map_err(|error| BridgeError::invalid(format!("notify: {error}")))?;
        let begun = given.span.map(|span| state.telemetry.begun(span)).transpose()?.flatten();
        connection.client.notify_within(begun, &method, params.as_ref())?;
    }
    Ok(())
}

//! One-way messages from the host: notifications of handlers and of servers.

use crate::{
    config,
    error::BridgeError,
    host::{self, server_requests},
    message::{Notification, NotifyCall, NotifyConnection, NotifyFeature, NotifyListener, NotifyPort, NotifyServer},
    open::connection::Connection,
    process::log,
    state::{
        PortState,
        entries::{MAX_WAITING, OpenState, WaitingMessage, too_many_wait},
        table::HandleKind,
    },
};
use std::sync::Arc;
use trunkline::{
    bridge_support::hold_stdio,
    client::ClientError,
    protocol::RawJson,
    server::{CallInfo, Server},
};

/// Passes a notification to its target. If there is none, the call has just ended or the number is
/// wrong, which only the host can tell apart.
pub(crate) fn notify(state: &Arc<PortState>, target: u64, given: GivenNotification<'_>) -> Result<(), BridgeError> {
    match HandleKind::of(target) {
        None if target == 0 => {
            let given = given.of_port()?;
            if let Some(level) = given.log_level {
                log::set_level(level);
            }
            if given.telemetry {
                let servers: Vec<_> = state.tables.lock().servers.iter().map(|(_, server)| server.clone()).collect();
                state.telemetry.begin(&servers);
            }
            if given.hold_stdio {
                let _ = hold_stdio();
            }
            Ok(())
        }
        Some(HandleKind::Call) => {
            let info = state.tables.lock().calls.get(target).map(|call| call.info.clone());
            info.map_or(Ok(()), |info| given.of_call().map(|given| of_call(&info, given)))
        }
        Some(HandleKind::Server) => {
            let server = state.tables.lock().servers.get(target).cloned();
            server.map_or(Ok(()), |server| of_server(&server, given.of_server()?))
        }
        Some(HandleKind::Feature) => {
            let tables = state.tables.lock();
            let feature = tables.features.get(target).and_then(|it| Some(it.server.feature::<()>(it.id?)));
            drop(tables);
            feature.map_or(Ok(()), |feature| {
                if let Some(is_enabled) = given.of_feature()?.enabled {
                    feature.set_enabled(is_enabled);
                }
                Ok(())
            })
        }
        Some(HandleKind::Connection) => {
            let given = given.of_connection()?;
            let number = given.span.as_ref().map(|span| span.number);
            let notified = to_connection(state, target, given);
            if let Some(number) = number {
                match &notified {
                    Ok(true) => {}
                    Ok(false) => state.telemetry.refuse(number, ClientError::Closed),
                    Err(error) => state.telemetry.refuse(number, ClientError::Invalid(error.message.clone())),
                }
            }
            notified.map(drop)
        }
        _ => Ok(()),
    }
}

/// Passes a message to a connection. Returns `false` if it no longer exists.
fn to_connection(state: &Arc<PortState>, target: u64, given: NotifyConnection) -> Result<bool, BridgeError> {
    let connection = match state.tables.lock().connections.get_mut(target) {
        Some(OpenState::Open { thing, .. }) => thing.clone(),
        Some(OpenState::Opening { waiting, .. }) => {
            if waiting.len() >= MAX_WAITING {
                return Err(too_many_wait());
            }
            waiting.push(WaitingMessage::Notification(given));
            return Ok(true);
        }
        Some(OpenState::Failed(_)) | None => return Ok(false),
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
        call.keep(&once.name, once.value);
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

/// A notification from a client.
pub(crate) fn of_connection(
    state: &Arc<PortState>,
    handle: u64,
    connection: &Connection,
    given: NotifyConnection,
) -> Result<(), BridgeError> {
    if let Some(handlers) = given.handlers {
        host::check_opened(&connection.functions, &handlers)?;
        let handlers = server_requests::handlers(state, handle, server_requests::operations(&handlers)?);
        connection.set_handlers(handlers)?;
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

/// A notification from the host. The meaning of the JSON depends on the target.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is used once")]
pub(crate) enum GivenNotification<'a> {
    Json(&'a [u8]),
    Typed(Notification),
}

impl GivenNotification<'_> {
    fn of_call(self) -> Result<NotifyCall, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Call(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a call")),
        }
    }

    fn of_port(self) -> Result<NotifyPort, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Port(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("the port")),
        }
    }

    fn of_server(self) -> Result<NotifyServer, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Server(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a server")),
        }
    }

    pub(crate) fn of_listener(self) -> Result<NotifyListener, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Listener(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a listener")),
        }
    }

    fn of_feature(self) -> Result<NotifyFeature, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Feature(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a feature")),
        }
    }

    fn of_connection(self) -> Result<NotifyConnection, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Connection(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a connection")),
        }
        .and_then(|given: NotifyConnection| match &given {
            NotifyConnection { method: None, handlers: None, roots: None, .. }
            | NotifyConnection { method: None, params: Some(_), .. } => {
                Err(BridgeError::invalid("notify: method is missing"))
            }
            _ => Ok(given),
        })
    }

    fn mistaken(target: &str) -> BridgeError {
        BridgeError::invalid(format!("notify: the target is {target}, but the message is for another kind of target"))
    }
}

//! Requests to the server of a connection, or to its group.

use crate::{
    BridgeError, ErrorKind, PortState,
    message::{Request, START_TASK, SUBSCRIBE},
    open::groups,
    requests::{
        host_reply::{HostReply, result_schema},
        logout::{self, LOGOUT},
        one_way_messages,
        replies::finish,
        sent_request::{no_receiver, note_sent, sent, set_cause},
        skills, streams,
    },
    state::entries::{Connection, OpenState, RunningRequest, WaitingMessage},
};
use std::sync::Arc;

/// Sends a request, or lets it wait until its connection is open.
pub(super) fn request(state: &Arc<PortState>, handle: u64, mut given: Request) -> Result<u64, BridgeError> {
    let mut tables = state.tables.lock();
    let connection = match tables.connections.get(handle) {
        Some(OpenState::Open(connection)) => Some(connection.clone()),
        Some(OpenState::Opening { waiting, .. }) => WaitingMessage::check_room(waiting).map(|()| None)?,
        None => {
            let reason = tables.lost.reason(handle);
            let lost = |reason| BridgeError::new(ErrorKind::Closed, format!("The connection has ended: {reason}"));
            return Err(reason.map_or_else(no_receiver, lost));
        }
    };
    let ticket = tables.insert_request(&given, handle)?;
    set_cause(state, ticket, &mut given);
    let Some(connection) = connection else {
        if let Some(OpenState::Opening { waiting, .. }) = tables.connections.get_mut(handle) {
            waiting.push(WaitingMessage::Request(ticket, given));
        }
        return Ok(ticket);
    };
    drop(tables);
    sent(state, ticket, send(state, &connection, (handle, ticket), &given))
}

/// Sends a request with its ticket to the server of the connection with that handle.
fn send(
    state: &Arc<PortState>,
    Connection { client, group, .. }: &Connection,
    (handle, ticket): (u64, u64),
    given: &Request,
) -> Result<(), BridgeError> {
    if matches!(&*given.method, SUBSCRIBE | START_TASK) {
        return streams::open(state, client, ticket, given);
    }
    if groups::is_operation(&given.method) {
        let text = || format!("request: {} is for groups, and this connection is to one server", given.method);
        let group = group.as_ref().ok_or_else(|| BridgeError::invalid(text()))?;
        return groups::ask(state, group, ticket, given);
    }
    if given.method == LOGOUT {
        return logout::ask(state, client, ticket, given);
    }
    if skills::is_operation(&given.method) {
        #[cfg(feature = "skills")]
        return skills::work::ask(state, client, ticket, given);
        #[cfg(not(feature = "skills"))]
        return Err(BridgeError::without("skills"));
    }
    let start = given.trace.as_ref().and_then(|_| client.operation(&given.method, given.params.as_ref()));
    let trace = state.telemetry.sending(ticket, start, given)?;
    let is_traced = trace.is_some();
    let options = given.options.clone().with_trace(trace);
    let reply = Arc::new(HostReply::new(state, ticket, handle, given, is_traced));
    let reply = client.checking(result_schema(given)?, &options, reply);
    let (method, params) = (given.method.as_str(), given.params.clone());
    let call = if given.all {
        client.start_all(method, params, &options, reply)?
    } else {
        client.start(method, params.as_ref(), &options, reply)?
    };
    note_sent(state, ticket, RunningRequest::ToServer(client.clone(), call));
    Ok(())
}

/// Sends the messages that were waiting for the connection to open.
pub(crate) fn send_waiting(state: &Arc<PortState>, connection: &Connection, handle: u64, waiting: Vec<WaitingMessage>) {
    for waiting in waiting {
        let (ticket, given) = match waiting {
            WaitingMessage::Request(ticket, given) => (ticket, given),
            WaitingMessage::Notification(given) => {
                if let Err(error) = one_way_messages::of_connection(state, handle, connection, given) {
                    tracing::warn!(target: "trunkline::bridge", %error, "could not send a queued notification");
                }
                continue;
            }
        };
        // If it was cancelled in the meantime, it has its reply.
        if state.tables.lock().requests.get(ticket).is_some()
            && let Err(error) = send(state, connection, (handle, ticket), &given)
        {
            finish(state, ticket, Err(error));
        }
    }
}

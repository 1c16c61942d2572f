//! Requests from the host: to a server, or to the client of a call.

pub(crate) mod host_reply;
pub(crate) mod notifications;
pub(crate) mod replies;
pub(crate) mod skills;
pub(crate) mod streams;
pub(crate) mod task_progress;

use crate::{
    calls::causes,
    error::{BridgeError, ErrorKind},
    events::slot::ReplySlot,
    host::store,
    message::{NEXT, Request, START_TASK, SUBSCRIBE},
    open::{connection::Connection, groups},
    requests::{
        host_reply::{HostReply, result_schema},
        replies::{finish, note_sent},
    },
    state::{
        PortState,
        entries::{HostRequest, MAX_WAITING, OpenState, RunningRequest, WaitingMessage, too_many_wait},
        full,
        table::HandleKind,
    },
};
use std::sync::Arc;
use trunkline::{
    Limits,
    protocol::{RawJson, RpcError},
    server::{CallInfo, ClientRequestError},
};

/// The peer of a request.
enum Peer {
    Server(Connection),
    Client(CallInfo),
}

pub(crate) fn request(state: &Arc<PortState>, handle: u64, mut given: Request) -> Result<u64, BridgeError> {
    let closed = || BridgeError::new(ErrorKind::Closed, "The connection is closed, or the call has ended");
    if given.method.is_empty() {
        return Err(BridgeError::invalid("request: method is missing"));
    }
    if given.notification {
        return Err(BridgeError::invalid("request: a notification is sent with notify"));
    }
    let running = HostRequest::running(&given, handle);
    let slot = running.slot();
    let mut guard = state.tables.lock();
    let tables = &mut *guard;
    let peer = match HandleKind::of(handle) {
        Some(HandleKind::Connection) => match tables.connections.get_mut(handle) {
            Some(OpenState::Open { thing, .. }) => Peer::Server(thing.clone()),
            Some(OpenState::Opening { waiting, .. }) => {
                if waiting.len() >= MAX_WAITING {
                    return Err(too_many_wait());
                }
                let ticket = tables.requests.insert(running).ok_or_else(full)?;
                cause(state, ticket, &mut given);
                waiting.push(WaitingMessage::Request(ticket, given));
                return Ok(ticket);
            }
            Some(OpenState::Failed(_)) | None => {
                let reason = tables.lost.reason(handle);
                let lost = |reason| BridgeError::new(ErrorKind::Closed, format!("The connection has ended: {reason}"));
                return Err(reason.map_or_else(closed, lost));
            }
        },
        Some(HandleKind::Call) => Peer::Client(tables.calls.get(handle).ok_or_else(closed)?.info.clone()),
        Some(HandleKind::Request) => {
            drop(guard);
            return streams::request(state, handle, &given);
        }
        Some(HandleKind::Server) => {
            drop(guard);
            return store::check(state, handle, &given);
        }
        _ => return Err(closed()),
    };
    let ticket = tables.requests.insert(running).ok_or_else(full)?;
    drop(guard);
    cause(state, ticket, &mut given);
    let sent = match peer {
        Peer::Server(connection) => ask_server(state, &connection, handle, ticket, &given, slot),
        Peer::Client(info) => ask_client(state, &info, ticket, &given),
    };
    sent.map(|()| ticket).inspect_err(|_| {
        let request = state.tables.lock().requests.remove(ticket);
        drop(request);
    })
}

/// Makes a request the cause of the calls that result from it, if the host asked for that.
fn cause(state: &PortState, ticket: u64, given: &mut Request) {
    if given.causes {
        given.options.cause = Some(causes::of(state, ticket));
    }
}

fn ask_server(
    state: &Arc<PortState>,
    Connection { client, group, .. }: &Connection,
    handle: u64,
    ticket: u64,
    given: &Request,
    slot: Option<Arc<ReplySlot>>,
) -> Result<(), BridgeError> {
    if matches!(&*given.method, SUBSCRIBE | START_TASK) {
        return streams::open(state, client, ticket, given);
    }
    if groups::is_operation(&given.method) {
        let text = || format!("request: {} is for groups, and this connection is to one server", given.method);
        let group = group.as_ref().ok_or_else(|| BridgeError::invalid(text()))?;
        return groups::ask(state, group, ticket, given);
    }
    if skills::is_operation(&given.method) {
        return skills::work::ask(state, client, ticket, given);
    }
    let start = given.trace.as_ref().and_then(|_| client.operation(&given.method, given.params.as_ref()));
    let trace = state.telemetry.sending(ticket, start, given)?;
    let is_traced = trace.is_some();
    let options = given.options.clone().with_trace(trace);
    let reply = Arc::new(HostReply::new(state, ticket, handle, slot, is_traced));
    let reply = client.checking(result_schema(given)?, &options, reply);
    let (method, params) = (given.method.as_str(), given.params.clone());
    let started = if given.all {
        client.start_all(method, params, &options, given.progress, reply)
    } else {
        client.start(method, params.as_ref(), &options, given.progress.into(), reply)
    };
    let call = started.map_err(BridgeError::from)?;
    if !note_sent(state, ticket, RunningRequest::ToServer(client.clone(), Arc::clone(&call))) {
        client.cancel(&call, "");
    }
    Ok(())
}

fn ask_client(state: &Arc<PortState>, info: &CallInfo, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    if given.result_schema.is_some() {
        return Err(BridgeError::invalid(
            "request: `resultSchema` is for the tools of a server, not for the client of a call",
        ));
    }
    if given.options.is_manual() {
        return Err(BridgeError::invalid(
            "request: `manualInput`, `inputResponses` and `requestState` are for a server, not for the client of a call",
        ));
    }
    if given.options.fresh {
        return Err(BridgeError::invalid(
            "request: fresh is for the results of a server, not for the client of a call",
        ));
    }
    if given.all {
        return Err(BridgeError::invalid("request: all is for the lists of a server, not for the client of a call"));
    }
    let method = given.method.as_str();
    let timeout = given.options.timeout.unwrap_or_else(|| info.timeout_for(method));
    let max = given.options.max_timeout.unwrap_or(Limits::default().max_request_timeout).max(timeout);
    let state_then = Arc::downgrade(state);
    let answered = move |outcome: Result<RawJson, BridgeError>| {
        if let Some(state) = state_then.upgrade() {
            finish(&state, ticket, outcome.map(RawJson::into_bytes));
        }
    };
    if given.method == NEXT {
        let params = given.params.clone();
        let done = move |outcome: Result<RawJson, RpcError>| answered(outcome.map_err(BridgeError::from));
        return info.proceed_as(given.options.cause.clone(), params, done).map_err(BridgeError::from);
    }
    let start = given.trace.as_ref().and_then(|_| info.client_request(method, given.params.as_ref()));
    let trace = state.telemetry.sending(ticket, start, given)?;
    let traced = trace.as_ref().and_then(|trace| trace.context.put_into(given.params.as_ref()).ok());
    let telemetry = trace.map(|_| Arc::clone(&state.telemetry));
    let completion = move |outcome: Result<RawJson, ClientRequestError>| {
        if let Some(telemetry) = telemetry {
            telemetry.client_answered(ticket, &outcome);
        }
        answered(outcome.map_err(BridgeError::from));
    };
    let asking = info
        .ask(method, given.key.as_deref(), traced.as_ref().or(given.params.as_ref()), timeout, max, completion)
        .map_err(BridgeError::from)?;
    if !note_sent(state, ticket, RunningRequest::ToClient(info.clone(), asking.clone())) {
        info.cancel_client_request(&asking, "");
    }
    Ok(())
}

/// Sends the messages that were waiting for the connection to open.
pub(crate) fn send_waiting(state: &Arc<PortState>, connection: &Connection, handle: u64, waiting: Vec<WaitingMessage>) {
    for waiting in waiting {
        let (ticket, given) = match waiting {
            WaitingMessage::Request(ticket, given) => (ticket, given),
            WaitingMessage::Notification(given) => {
                if let Err(error) = notifications::of_connection(state, handle, connection, given) {
                    tracing::warn!(target: "trunkline::bridge", %error, "could not send a queued notification");
                }
                continue;
            }
        };
        let slot = match state.tables.lock().requests.get(ticket) {
            Some(HostRequest::Running { slot, .. }) => slot.clone(),
            Some(HostRequest::Done(_) | HostRequest::Stream { .. }) => None,
            // It was cancelled in the meantime and has its reply.
            None => continue,
        };
        if let Err(error) = ask_server(state, connection, handle, ticket, &given, slot) {
            finish(state, ticket, Err(error));
        }
    }
}

/// Cancels a request or closes a stream. Does nothing if it is already done.
pub(crate) fn cancel(state: &PortState, ticket: u64, reason: &str) {
    let sent = match state.tables.lock().requests.get_mut(ticket) {
        Some(HostRequest::Running { sent, .. }) => Some(sent.take()),
        Some(HostRequest::Stream { .. }) => None,
        Some(HostRequest::Done(_)) | None => return,
    };
    let cancelled = || Err(BridgeError::new(ErrorKind::Cancelled, "The request was cancelled"));
    match sent {
        None => streams::close(state, ticket),
        Some(Some(RunningRequest::ToServer(client, call))) => client.cancel(&call, reason),
        Some(Some(RunningRequest::ToClient(info, id))) => info.cancel_client_request(&id, reason),
        Some(Some(RunningRequest::Task(task))) => {
            task.abort();
            finish(state, ticket, cancelled());
        }
        // Not sent yet, because its connection is still opening.
        Some(None) => drop(finish(state, ticket, cancelled())),
    }
}

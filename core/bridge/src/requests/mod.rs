//! Requests of the host, each in the file of its receiver: a server, the client of a call, or a
//! stream.

pub(crate) mod host_reply;
pub(crate) mod logout;
pub(crate) mod one_way_messages;
pub(crate) mod replies;
pub(crate) mod sent_request;
pub(crate) mod skills;
pub(crate) mod streams;
pub(crate) mod task_progress;
pub(crate) mod to_client;
pub(crate) mod to_server;

use crate::{
    BridgeError, ErrorKind, PortState,
    host::custom_store,
    message::Request,
    requests::{replies::finish, sent_request::no_receiver},
    state::{
        entries::{HostRequest, RunningRequest},
        tables::HandleKind,
    },
};
use std::sync::Arc;

pub(crate) fn request(state: &Arc<PortState>, handle: u64, given: Request) -> Result<u64, BridgeError> {
    if given.method.is_empty() {
        return Err(BridgeError::invalid("request: method is missing"));
    }
    if given.notification {
        return Err(BridgeError::invalid("request: a notification is sent with notify"));
    }
    match HandleKind::of(handle) {
        Some(HandleKind::Connection) => to_server::request(state, handle, given),
        Some(HandleKind::Call) => to_client::request(state, handle, given),
        Some(HandleKind::Request) => streams::request(state, handle, &given),
        Some(HandleKind::Server) => custom_store::check(state, handle, &given),
        _ => Err(no_receiver()),
    }
}

/// Cancels a request or closes a stream. Does nothing if it is already done.
pub(crate) fn cancel(state: &PortState, ticket: u64, reason: &str) {
    let sent = match state.tables.lock().requests.get_mut(ticket) {
        Some(HostRequest::Running { sent, .. }) => Some(sent.take()),
        Some(HostRequest::Stream(_)) => None,
        None => return,
    };
    let Some(sent) = sent else { return streams::close(state, ticket) };
    if let Some(sent) = &sent {
        sent.cancel(reason);
    }
    // Others report their end themselves. Without one, the connection is still opening.
    if matches!(sent, None | Some(RunningRequest::Task(_))) {
        let cancelled = BridgeError::new(ErrorKind::Cancelled, "The request was cancelled");
        finish(state, ticket, Err(cancelled));
    }
}

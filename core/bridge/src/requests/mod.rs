//! Requests of the host, each in the file of its receiver: a server, the client of a call, or a
//! stream.

pub(crate) mod host_reply;
pub(crate) mod notifications;
pub(crate) mod replies;
pub(crate) mod skills;
pub(crate) mod streams;
pub(crate) mod task_progress;
pub(crate) mod to_client;
pub(crate) mod to_server;

use crate::{
    BridgeError, ErrorKind, PortState,
    calls::causes,
    events::slot::ReplySlot,
    host::store,
    message::Request,
    requests::{replies::finish, streams::OpenStream},
    state::table::{HandleKind, HandleTable},
};
use std::sync::Arc;
use tokio::task::AbortHandle;
use trunkline::{
    bridge_support::ClientCall,
    client::Client,
    server::{CallInfo, PendingClientRequest},
};

/// A host's request.
pub(crate) enum HostRequest {
    /// `sent` is `None` while the request is waiting for its connection or being sent.
    Running { slot: Option<Arc<ReplySlot>>, sent: Option<RunningRequest>, handle: u64 },
    /// Completed, but the reply has not been fetched yet.
    Done(Arc<ReplySlot>),
    /// An open stream. Its reply may not have been fetched yet.
    Stream { open: Arc<OpenStream>, slot: Option<Arc<ReplySlot>> },
}

impl HostRequest {
    /// A request that has not been sent yet.
    pub(crate) fn running(given: &Request, handle: u64) -> Self {
        Self::Running { slot: given.wait.then(Arc::default), sent: None, handle }
    }

    pub(crate) fn slot(&self) -> Option<Arc<ReplySlot>> {
        match self {
            Self::Running { slot, .. } | Self::Stream { slot, .. } => slot.clone(),
            Self::Done(slot) => Some(Arc::clone(slot)),
        }
    }
}

impl HandleTable<HostRequest> {
    /// Removes a fetched reply to a request. A stream stays open.
    pub(crate) fn forget_reply(&mut self, ticket: u64) {
        match self.get_mut(ticket) {
            Some(HostRequest::Stream { slot, .. }) => *slot = None,
            _ => drop(self.remove(ticket)),
        }
    }
}

/// A request in flight.
pub(crate) enum RunningRequest {
    /// To a server.
    ToServer(Client, Arc<ClientCall>),
    /// From a handler to the client of its call.
    ToClient(CallInfo, PendingClientRequest),
    /// A task of this port.
    Task(AbortHandle),
}

impl RunningRequest {
    fn cancel(&self, reason: &str) {
        match self {
            Self::ToServer(client, call) => client.cancel(call, reason),
            Self::ToClient(info, request) => info.cancel_client_request(request, reason),
            Self::Task(task) => task.abort(),
        }
    }
}

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
        Some(HandleKind::Server) => store::check(state, handle, &given),
        _ => Err(no_receiver()),
    }
}

fn no_receiver() -> BridgeError {
    BridgeError::new(ErrorKind::Closed, "The connection is closed, or the call has ended")
}

/// Makes a request the cause of the calls that result from it, if the host asked for that.
fn set_cause(state: &PortState, ticket: u64, given: &mut Request) {
    if given.causes {
        given.options.cause = Some(causes::of(state, ticket));
    }
}

/// The ticket of a request, which is removed if the request could not be sent.
pub(crate) fn sent(state: &PortState, ticket: u64, sent: Result<(), BridgeError>) -> Result<u64, BridgeError> {
    sent.map(|()| ticket).inspect_err(|_| {
        let request = state.tables.lock().requests.remove(ticket);
        drop(request);
    })
}

/// Stores what is needed to cancel the request. If it was cancelled while being sent, it is
/// cancelled now.
fn note_sent(state: &PortState, ticket: u64, running: RunningRequest) {
    let mut tables = state.tables.lock();
    match tables.requests.get_mut(ticket) {
        Some(HostRequest::Running { sent, .. }) => *sent = Some(running),
        // It is already done.
        Some(_) => {}
        None => {
            drop(tables);
            running.cancel("");
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

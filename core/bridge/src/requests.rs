//! Requests of the host: to a server on a connection, or to the client of a call.

use super::{
    BridgeError, ErrorKind, Event, EventKind, Lane, Reply,
    entries::{Entry, HostReply, MAX_WAITING, Sent, Slot, Waiting},
    message::{NEXT, Request, Time},
    notifications,
    port::{PortInner, full},
    queue::Latest,
};
use bytes::Bytes;
use std::sync::Arc;
use trunkline::{
    client::{Client, RequestOptions},
    engine::Limits,
    protocol::{RawJson, RpcError},
    server::{CallInfo, ClientRequestError},
};

/// The receiver of a request.
enum Peer {
    Server(Client),
    Client(CallInfo),
}

impl PortInner {
    pub(super) fn request(self: &Arc<Self>, handle: u64, given: Request) -> Result<u64, BridgeError> {
        let slot = given.wait.then(Arc::<Slot>::default);
        let mut table = self.table.lock();
        let peer = match table.get(handle) {
            Some(Entry::Connection { client, .. }) => Some(Peer::Server(client.clone())),
            Some(Entry::Call { facts, .. }) => Some(Peer::Client(facts.clone())),
            Some(Entry::Opening { connection: true, waiting, .. }) if waiting.len() >= MAX_WAITING => {
                return Err(too_many_wait());
            }
            Some(Entry::Opening { connection: true, .. }) => None,
            _ => return Err(BridgeError::new(ErrorKind::Closed, "The connection is closed, or the call is done")),
        };
        let ticket =
            table.insert(Entry::Request { slot: slot.clone(), sent: None, connection: handle }).ok_or_else(full)?;
        let Some(peer) = peer else {
            if let Some(Entry::Opening { waiting, .. }) = table.get_mut(handle) {
                waiting.push(Waiting::Request(ticket, given));
            }
            return Ok(ticket);
        };
        drop(table);
        let sent = match peer {
            Peer::Server(client) => self.ask_server(&client, handle, ticket, &given, slot),
            Peer::Client(facts) => self.ask_client(&facts, ticket, &given),
        };
        match sent {
            Ok(()) => Ok(ticket),
            Err(error) => {
                self.remove(ticket);
                Err(error)
            }
        }
    }

    fn ask_server(
        self: &Arc<Self>,
        client: &Client,
        connection: u64,
        ticket: u64,
        given: &Request,
        slot: Option<Arc<Slot>>,
    ) -> Result<(), BridgeError> {
        let options = RequestOptions::default()
            .with_timeout(given.timeout.map(|time| time.0))
            .with_max_timeout(given.max_timeout.map(|time| time.0));
        let slot = slot.filter(|_| self.queue.has_bell_for_threads());
        let reply = HostReply { port: Arc::downgrade(self), ticket, connection, latest: Latest::default(), slot };
        let (method, params, reply) = (given.method.as_str(), given.params.clone(), Arc::new(reply));
        let started = if given.all {
            client.start_all(method, params, &options, given.progress, reply)
        } else {
            client.start(method, params.as_ref(), &options, given.progress, reply)
        };
        let in_flight = started.map_err(BridgeError::from)?;
        if !self.note_sent(ticket, Sent::ToServer(client.clone(), in_flight.clone())) {
            client.cancel(&in_flight, "");
        }
        Ok(())
    }

    fn ask_client(self: &Arc<Self>, facts: &CallInfo, ticket: u64, given: &Request) -> Result<(), BridgeError> {
        if given.all {
            return Err(BridgeError::invalid(
                "request: all is for the lists of a server, not for the client of a call",
            ));
        }
        let method = given.method.as_str();
        let timeout = given.timeout.map_or_else(|| facts.timeout_for(method), |time| time.0);
        let max = given.max_timeout.unwrap_or(Time(Limits::default().max_request_timeout)).0.max(timeout);
        let port = Arc::downgrade(self);
        let answered = move |outcome: Result<RawJson, BridgeError>| {
            if let Some(port) = port.upgrade() {
                port.answered(ticket, outcome.map(RawJson::into_bytes));
            }
        };
        if given.method == NEXT {
            let params = given.params.clone();
            let done = move |outcome: Result<RawJson, RpcError>| answered(outcome.map_err(BridgeError::from));
            return facts.proceed(params, done).map_err(BridgeError::from);
        }
        let asked = move |outcome: Result<RawJson, ClientRequestError>| answered(outcome.map_err(BridgeError::from));
        let asking = facts
            .ask(method, given.key.as_deref(), given.params.as_ref(), timeout, max, asked)
            .map_err(BridgeError::from)?;
        if !self.note_sent(ticket, Sent::ToClient(facts.clone(), asking.clone())) {
            facts.cancel_client_request(&asking, "");
        }
        Ok(())
    }

    /// Keeps what is needed to cancel. `false`: the request is done already, or was cancelled while it was being sent; in the
    /// first case there is nothing left to cancel.
    fn note_sent(&self, ticket: u64, on_its_way: Sent) -> bool {
        let noted = self.with_entry(ticket, |entry| {
            if let Entry::Request { sent, .. } = entry {
                *sent = Some(on_its_way);
            }
        });
        noted.is_some()
    }

    /// Sends what was asked for while its connection was being opened.
    pub(super) fn send_waiting(self: &Arc<Self>, client: &Client, connection: u64, waiting: Vec<Waiting>) {
        for waiting in waiting {
            let (ticket, given) = match waiting {
                Waiting::Request(ticket, given) => (ticket, given),
                Waiting::Notification(given) => {
                    if let Err(error) = notifications::of_connection(client, &given) {
                        tracing::warn!(target: "trunkline", "a notification was not sent once the connection was open: {error}");
                    }
                    continue;
                }
            };
            let slot = self.with_entry(ticket, |entry| match entry {
                Entry::Request { slot, .. } => slot.clone(),
                _ => None,
            });
            let Some(slot) = slot else { continue };
            if let Err(error) = self.ask_server(client, connection, ticket, &given, slot) {
                self.answered(ticket, Err(error));
            }
        }
    }

    pub(super) fn cancel(&self, ticket: u64, reason: &str) {
        let sent = match self.table.lock().get_mut(ticket) {
            Some(Entry::Request { sent, .. }) => sent.take(),
            Some(Entry::Exchange(answering)) => return answering.cancel(),
            _ => return,
        };
        match sent {
            Some(Sent::ToServer(client, in_flight)) => client.cancel(&in_flight, reason),
            Some(Sent::ToClient(facts, id)) => facts.cancel_client_request(&id, reason),
            // Not sent yet: its connection is still being opened.
            None => self.answered(ticket, Err(BridgeError::new(ErrorKind::Cancelled, "The request was cancelled"))),
        }
    }

    /// The outcome of a request: to whoever waits for it, or into the queue. Exactly once.
    pub(super) fn answered(&self, ticket: u64, outcome: Result<Bytes, BridgeError>) {
        let reply = match outcome {
            Ok(body) => Reply { ok: true, body },
            Err(error) => Reply { ok: false, body: error.to_json().into() },
        };
        let mut table = self.table.lock();
        let Some(Entry::Request { slot, connection, .. }) = table.get_mut(ticket) else { return };
        let (slot, handle) = (slot.take(), *connection);
        match slot {
            Some(slot) => {
                if let Some(entry) = table.get_mut(ticket) {
                    *entry = Entry::Done(Arc::clone(&slot));
                }
                drop(table);
                slot.fill(reply);
                self.queue.ring_for_threads();
            }
            None => {
                table.remove(ticket);
                drop(table);
                self.push(
                    Lane::Queue,
                    Event {
                        kind: EventKind::Reply,
                        ticket,
                        handle,
                        ok: reply.ok,
                        name: String::new(),
                        body: reply.body,
                    },
                );
            }
        }
    }
}

/// An opening connection has its bound.
pub(super) fn too_many_wait() -> BridgeError {
    BridgeError::new(
        ErrorKind::Busy,
        format!("{MAX_WAITING} requests and notifications wait for the connection to open"),
    )
}

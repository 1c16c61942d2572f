//! The port: an event queue, its bell, and everything that one loop or thread of the host owns.

use crate::{
    Bell, BridgeError, Event, Fetched, Given, Lane, OptionNames, PortState, Shape,
    calls::{self, HostAnswer},
    description,
    events::slot::ReplySlot,
    host_json::{self, millis},
    http::exchanges,
    message::{Fail, HttpHead, Notification, Registration, Request},
    open::{self, ports, shutdown},
    option_translation::translated,
    process::{log_forwarding, log_scope::on_behalf_of},
    register,
    requests::{self, one_way_messages},
    state::tables::HandleKind,
    telemetry::observed,
};
use bytes::Bytes;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{fs::File, sync::Arc, time::Duration};
use trunkline::bridge_support::open_closed_streams;

/// A port. Cheap to clone: clones refer to the same port, and dropping the last one closes it
/// without waiting.
#[derive(Clone)]
pub struct Port {
    owner: Arc<Owner>,
    /// How errors write option names.
    names: OptionNames,
}

struct Owner(Arc<PortState>);

impl Drop for Owner {
    fn drop(&mut self) {
        if self.0.check().is_ok() {
            self.0.queue.mute();
            // If the host has already closed it, that deadline applies.
            if !self.0.queue.is_closing() {
                shutdown::close_port(&self.0, Duration::ZERO);
            }
        }
    }
}

impl Port {
    /// Creates a port. Starts nothing.
    pub fn new(bell: impl Bell) -> Self {
        Self::make(Box::new(bell), None)
    }

    /// Creates a port for a host whose threads sleep outside of the core until a reply arrives or
    /// an event is pending.
    ///
    /// `bell_for_threads` rings for each reply to a request or open made with `"wait": true`, for
    /// the progress of such a request, and whenever a listener or connection ends. The threads
    /// check with [`Port::fetch`], [`Port::take`] and [`Port::is_open`], so the progress of their
    /// requests is not queued.
    pub fn with_threads(bell: impl Bell, bell_for_threads: impl Bell) -> Self {
        Self::make(Box::new(bell), Some(Box::new(bell_for_threads)))
    }

    fn make(bell: Box<dyn Bell>, bell_for_threads: Option<Box<dyn Bell>>) -> Self {
        open_closed_streams();
        let state = PortState::new(bell, bell_for_threads);
        ports::enter(&state);
        log_forwarding::attach(Arc::downgrade(&state.queue));
        Self { owner: Arc::new(Owner(state)), names: OptionNames::Json }
    }

    /// Sets how errors write option names.
    #[must_use]
    pub fn with_option_names(self, names: OptionNames) -> Self {
        Self { names, ..self }
    }

    /// The error for an option that the host cannot serialize. `message` names the message with the
    /// option, such as `open`, and `path` is the option's path in it.
    pub fn unwritable(&self, message: &str, path: &str, problem: &str) -> BridgeError {
        translated(self.names, BridgeError::invalid(format!("{message}: {path}: {problem}")))
    }

    /// The state. Fails if the port belongs to another process.
    fn state(&self) -> Result<&Arc<PortState>, BridgeError> {
        let state = &self.owner.0;
        state.check().map(|()| state)
    }

    /// Runs a function of the port. Log records of this thread go to the port meanwhile.
    fn run<T>(&self, work: impl FnOnce(&Arc<PortState>) -> Result<T, BridgeError>) -> Result<T, BridgeError> {
        let state = self.state()?;
        let _scope = on_behalf_of(Arc::downgrade(&state.queue));
        work(state).map_err(|error| translated(self.names, error))
    }

    /// Like [`Self::run`], for new work, which a closing port refuses.
    fn begin<T>(&self, work: impl FnOnce(&Arc<PortState>) -> Result<T, BridgeError>) -> Result<T, BridgeError> {
        self.run(|state| if state.queue.is_closing() { Err(BridgeError::closed()) } else { work(state) })
    }

    /// Registers a server, one of its features, or a hook. `docs/bridge.md` describes the JSON of
    /// each kind.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], whose message says what is wrong.
    pub fn register(&self, kind: &str, given: impl Given) -> Result<u64, BridgeError> {
        self.begin(|state| register::register(state, Registration::read(kind, given)?))
    }

    /// Removes a registered feature, or a server.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the handle is not that of a registration.
    pub fn unregister(&self, handle: u64) -> Result<(), BridgeError> {
        register::unregister(self.state()?, handle)
    }

    /// Opens a listener or a connection. A `Reply` follows, whose ticket is the handle.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], whose message says what is wrong.
    pub fn open(&self, given: impl Given) -> Result<u64, BridgeError> {
        self.begin(|state| open::open(state, given.read("open")?))
    }

    /// Validates the message of an `open` without performing it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], whose message says what is wrong.
    pub fn check(&self, given: impl Given) -> Result<(), BridgeError> {
        self.begin(|state| open::check(state, given.read("open")?))
    }

    /// Opens a listener of a server on file descriptors of the host. With `wait`, fetch the reply
    /// with [`Port::wait`].
    ///
    /// # Errors
    /// As for [`Port::open`].
    #[cfg(unix)]
    pub fn open_pipe(&self, server: u64, reader: OwnedFd, writer: OwnedFd, wait: bool) -> Result<u64, BridgeError> {
        self.begin(|state| open::listeners::open_pipe(state, server, (reader, writer), wait))
    }

    /// Closes a listener or a connection, or the whole port (0). If called repeatedly, the earliest
    /// deadline wins.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn close(&self, handle: u64, deadline_ms: u64) -> Result<(), BridgeError> {
        let state = self.state()?;
        let deadline = millis(deadline_ms);
        if handle == 0 {
            shutdown::close_port(state, deadline);
        } else {
            shutdown::close_one(state, handle, deadline);
        }
        Ok(())
    }

    /// The number of the port, unique within its process.
    pub fn number(&self) -> u64 {
        self.owner.0.number
    }

    /// Sends a request to the server of a connection, to the client of a call, or to a subscription
    /// or task. A `Reply` follows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], [`crate::ErrorKind::Busy`] or
    /// [`crate::ErrorKind::Closed`]; no `Reply` follows.
    pub fn request(&self, handle: u64, json: &[u8]) -> Result<u64, BridgeError> {
        // Allowed while the port is closing: calls in flight run until the deadline and may send
        // requests.
        self.run(|state| requests::request(state, handle, host_json::read("request", json)?))
    }

    /// Like [`Port::request`], with a typed message.
    ///
    /// # Errors
    /// As for [`Port::request`].
    pub fn request_message(&self, handle: u64, given: Request) -> Result<u64, BridgeError> {
        self.run(|state| requests::request(state, handle, given))
    }

    /// Sends a notification: from a running handler, from a server to its clients, or from a client
    /// to its server.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`]. A call that is already completed is not an error.
    pub fn notify(&self, target: u64, json: &[u8]) -> Result<(), BridgeError> {
        self.run(|state| one_way_messages::notify(state, target, Notification::read(target, json)?))
    }

    /// Like [`Port::notify`], with a typed message.
    ///
    /// # Errors
    /// As for [`Port::notify`].
    pub fn notify_message(&self, target: u64, given: Notification) -> Result<(), BridgeError> {
        self.run(|state| one_way_messages::notify(state, target, given))
    }

    /// Cancels a request or an exchange. Does nothing if it has already completed.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn cancel(&self, ticket: u64, reason: &str) -> Result<(), BridgeError> {
        self.run(|state| {
            match HandleKind::of(ticket) {
                Some(HandleKind::Request) => requests::cancel(state, ticket, reason),
                Some(HandleKind::Exchange) => _ = exchanges::find(state, ticket).inspect(|exchange| exchange.cancel()),
                _ => {}
            }
            Ok(())
        })
    }

    /// Completes a call. Returns `false` if it is already completed.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the body does not have the shape. The call stays
    /// open.
    pub fn complete(&self, ticket: u64, shape: Shape, body: Bytes) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Result(shape, body)))
    }

    /// Fails a call. Returns `false` if it is already completed.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is not a failure. The call stays open.
    pub fn fail(&self, ticket: u64, json: &[u8]) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Failure(host_json::read("fail", json)?)))
    }

    /// Like [`Port::fail`], with a typed message.
    ///
    /// # Errors
    /// As for [`Port::fail`].
    pub fn fail_message(&self, ticket: u64, given: Fail) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Failure(given)))
    }

    /// Passes a web framework's request to a mounted listener, and returns the ticket of the
    /// exchange. The response arrives as events with this ticket: `HttpHead`, `HttpChunk`s and
    /// `HttpEnd`. `end` means that the request has no body.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is not the head of a request;
    /// [`crate::ErrorKind::Closed`] if there is no such listener.
    pub fn http_request(&self, listener: u64, head: &[u8], end: bool) -> Result<u64, BridgeError> {
        self.begin(|state| exchanges::request(state, listener, &host_json::read("http_request", head)?, end))
    }

    /// Like [`Port::http_request`], with a typed message.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Closed`] if there is no such listener.
    pub fn http_request_message(&self, listener: u64, head: &HttpHead, end: bool) -> Result<u64, BridgeError> {
        self.begin(|state| exchanges::request(state, listener, head, end))
    }

    /// Passes the next chunk of a request's body; `end` marks the last one. Returns `false` if the
    /// rest is no longer needed.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn http_body(&self, exchange: u64, bytes: Bytes, end: bool) -> Result<bool, BridgeError> {
        self.run(|state| Ok(exchanges::find(state, exchange).is_some_and(|it| it.feed.feed(bytes, end))))
    }

    /// Grants credit for more bytes of a response. Does nothing if the response has ended.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn http_credit(&self, exchange: u64, bytes: u64) -> Result<(), BridgeError> {
        let exchange = exchanges::find(self.state()?, exchange);
        exchange.inspect(|exchange| exchange.credit.grant(usize::try_from(bytes).unwrap_or(usize::MAX)));
        Ok(())
    }

    /// Takes up to `max` events, waiting up to `wait_ms` for the first.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn drain(&self, lane: Lane, max: usize, wait_ms: u64) -> Result<Vec<Event>, BridgeError> {
        Ok(self.state()?.queue.drain(lane, max, millis(wait_ms)))
    }

    /// Waits up to `wait_ms` until an event of the main lane has been pending for `grace_us` while
    /// no thread drained it, or the port has stopped. Returns whether that is so.
    ///
    /// A host whose draining thread also runs short functions of the program needs one thread that
    /// stands by: if a function takes longer, that one drains.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn stand_by(&self, grace_us: u64, wait_ms: u64) -> Result<bool, BridgeError> {
        Ok(self.state()?.queue.stand_by(Duration::from_micros(grace_us), millis(wait_ms)))
    }

    /// Takes the first event of the main lane, without waiting.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn take(&self) -> Result<Option<Event>, BridgeError> {
        Ok(self.state()?.queue.take())
    }

    /// The number of events in the main lane.
    pub fn pending(&self) -> usize {
        self.owner.0.queue.pending()
    }

    /// Fetches the reply to a request or open made with `"wait": true`, without waiting. With
    /// `progress`, fetches the latest progress first; otherwise progress is kept until the reply
    /// has arrived.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if there is no such request, or its reply has already
    /// been fetched.
    pub fn fetch(&self, ticket: u64, progress: bool) -> Result<Fetched, BridgeError> {
        if progress && let Some(body) = self.slot(ticket)?.take_progress() {
            return Ok(Fetched::Progress(body));
        }
        Ok(self.wait(ticket, 0)?.map_or(Fetched::Nothing, Fetched::Reply))
    }

    /// Returns whether a listener or connection is open or opening. Changes before `Closed` is
    /// queued.
    pub fn is_open(&self, handle: u64) -> bool {
        let tables = self.owner.0.tables.lock();
        match HandleKind::of(handle) {
            Some(HandleKind::Listener) => tables.listeners.get(handle).is_some(),
            Some(HandleKind::Connection) => tables.connections.get(handle).is_some(),
            _ => false,
        }
    }

    /// Waits up to `wait_ms` for the reply to a request or open made with `"wait": true`: the
    /// result as JSON, or the error.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if there is no such request, or its reply has already
    /// been fetched.
    pub fn wait(&self, ticket: u64, wait_ms: u64) -> Result<Option<Result<Bytes, BridgeError>>, BridgeError> {
        let slot = self.slot(ticket)?;
        let reply = slot.wait(millis(wait_ms));
        if reply.is_some() {
            self.owner.0.tables.lock().replies.remove(&ticket);
        }
        Ok(reply)
    }

    fn slot(&self, ticket: u64) -> Result<Arc<ReplySlot>, BridgeError> {
        let slot = self.state()?.tables.lock().reply_slot(ticket);
        slot.ok_or_else(|| BridgeError::stale("a request to wait for", ticket))
    }

    /// Describes a call, a token to verify, a connection, a server, or the port (0), as JSON.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the number is none of these, or is stale.
    pub fn describe(&self, target: u64) -> Result<String, BridgeError> {
        description::describe(self.state()?, target)
    }

    /// Returns a `TelemetryRecord`. With a request: its start, before it is sent to the target.
    /// Without one: the start of the request that the call `target` belongs to, or the end of the
    /// request `target`, which is returned once. `None` if the request is not observed or has
    /// ended.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is not a request.
    pub fn telemetry(&self, target: u64, request: &[u8]) -> Result<Option<String>, BridgeError> {
        let request = if request.is_empty() { None } else { Some(host_json::read("telemetry", request)?) };
        self.telemetry_message(target, request.as_ref())
    }

    /// Like [`Port::telemetry`], with a typed message.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn telemetry_message(&self, target: u64, request: Option<&Request>) -> Result<Option<String>, BridgeError> {
        observed::record(self.state()?, target, request)
    }

    /// The load of all reporting servers, as `TelemetryMeasurements`. `None` if there are none, or
    /// the port is closing.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn measurements(&self) -> Result<Option<String>, BridgeError> {
        observed::measurements(self.state()?)
    }

    /// The default deadline for [`Port::close`] from the options, in milliseconds: for listeners of
    /// a server, the part of `drainDeadlineMs` in which calls in flight may complete; for a
    /// connection, `closeTimeoutMs`, or zero if it is not open.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the number is neither that of a connection nor that
    /// of a registered server.
    pub fn close_deadline(&self, handle: u64) -> Result<u64, BridgeError> {
        let state = self.state()?;
        let deadline = match HandleKind::of(handle) {
            Some(HandleKind::Connection) => {
                state.client(handle).map_or(Duration::ZERO, |client| client.options().close_timeout)
            }
            _ => state.server(handle)?.options().drain_time(),
        };
        Ok(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns whether a call was cancelled; also `true` once it is completed.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn cancelled(&self, ticket: u64) -> Result<bool, BridgeError> {
        Ok(!calls::is_waiting(self.state()?, ticket))
    }

    /// A descriptor to watch after a `Handoff` event. The host owns and closes it. `None` if the
    /// handoff is over.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn watch(&self, handle: u64) -> Result<Option<File>, BridgeError> {
        Ok(self.state()?.handoffs.get(handle).and_then(|handoff| handoff.watch()))
    }

    /// Polls for the next message of a handed-over pipe, for a fraction of a millisecond, and only
    /// if that is worthwhile: right after sending a message to a peer that has recently replied
    /// quickly. Returns whether [`Self::read_ready`] would find something.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn busy_poll(&self, handle: u64) -> Result<bool, BridgeError> {
        let state = self.state()?;
        Ok(state.handoffs.get(handle).is_some_and(|handoff| handoff.busy_poll()))
    }

    /// Reads once from a handed-over pipe, without blocking, and handles the messages. Their events
    /// are queued without ringing the bell. Returns `false` if the handoff is over, and the host
    /// should stop watching the pipe.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn read_ready(&self, handle: u64) -> Result<bool, BridgeError> {
        let state = self.state()?;
        let Some(handoff) = state.handoffs.get(handle) else { return Ok(false) };
        self.run(|state| Ok(state.queue.without_bell(|| handoff.read_ready())))
    }
}

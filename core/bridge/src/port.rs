//! The port: an event queue, its bell, and the things of one loop or thread of the host.

use crate::{
    Bell, BridgeError, Event, Fetched, Given, Lane, OptionNames, PortState, Shape,
    calls::{self, HostAnswer},
    config::{self, millis},
    description,
    events::slot::ReplySlot,
    http::exchanges,
    message::{Fail, HttpHead, Notification, Registration, Request},
    open::{self, closing, listeners, ports},
    option_names::translated,
    process::{log, log_scope::LogScope},
    register,
    requests::{self, notifications},
    state::{entries::OpenState, tables::HandleKind},
    telemetry::observed,
};
use bytes::Bytes;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{fs::File, sync::Arc, time::Duration};

/// A port. Cheap to clone; clones are the same port. Dropping the last one closes it with deadline
/// 0.
#[derive(Clone)]
pub struct Port {
    owner: Arc<Owner>,
    /// The form of names in errors.
    names: OptionNames,
}

struct Owner(Arc<PortState>);

impl Drop for Owner {
    fn drop(&mut self) {
        if self.0.check().is_ok() {
            self.0.queue.mute();
            // A host that has closed it and lets it go means the deadline that it gave.
            if !self.0.is_closing() {
                closing::close_port(&self.0, Duration::ZERO);
            }
        }
    }
}

impl Port {
    /// A new port. Starts nothing.
    pub fn new(bell: impl Bell) -> Self {
        Self::make(Box::new(bell), None)
    }

    /// A new port whose host has threads that sleep outside of the core until a reply comes or an
    /// event is pending.
    ///
    /// `bell_for_threads` rings for each reply of a request or open that was made with
    /// `"wait": true`, for progress of such a request, and for each end of a listener or
    /// connection. These threads look with [`Port::fetch`], [`Port::take`] and [`Port::is_open`],
    /// so that progress of their requests does not enter the queue.
    pub fn with_threads(bell: impl Bell, bell_for_threads: impl Bell) -> Self {
        Self::make(Box::new(bell), Some(Box::new(bell_for_threads)))
    }

    fn make(bell: Box<dyn Bell>, bell_for_threads: Option<Box<dyn Bell>>) -> Self {
        let state = PortState::new(bell, bell_for_threads);
        ports::enter(&state);
        log::attach(Arc::downgrade(&state.queue));
        Self { owner: Arc::new(Owner(state)), names: OptionNames::Json }
    }

    /// The same port, whose errors name options in this form.
    #[must_use]
    pub fn with_option_names(self, names: OptionNames) -> Self {
        Self { names, ..self }
    }

    /// The error for options that the host cannot write as JSON; `message` is their message, such
    /// as `open`, and `path` is the path of the option in it.
    pub fn unwritable(&self, message: &str, path: &str, problem: &str) -> BridgeError {
        translated(self.names, BridgeError::invalid(format!("{message}: {path}: {problem}")))
    }

    /// The state of a port of this process.
    fn state(&self) -> Result<&Arc<PortState>, BridgeError> {
        let state = &self.owner.0;
        state.check().map(|()| state)
    }

    /// Runs a function of the port. What this thread logs meanwhile is this port's.
    fn run<T>(&self, work: impl FnOnce(&Arc<PortState>) -> Result<T, BridgeError>) -> Result<T, BridgeError> {
        let state = self.state()?;
        let _scope = LogScope::begin(&Arc::downgrade(&state.queue));
        work(state).map_err(|error| translated(self.names, error))
    }

    /// [`Self::run`] for new work, which a port that is closing refuses.
    fn begin<T>(&self, work: impl FnOnce(&Arc<PortState>) -> Result<T, BridgeError>) -> Result<T, BridgeError> {
        self.run(|state| if state.is_closing() { Err(BridgeError::closed()) } else { work(state) })
    }

    /// Registers a server, something that one offers, or a hook; `docs/bridge.md` has the JSON of
    /// each kind.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] names what is wrong.
    pub fn register(&self, kind: &str, given: impl Given) -> Result<u64, BridgeError> {
        self.begin(|state| register::register(state, Registration::read(kind, given)?))
    }

    /// Takes a registered feature away.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the handle names nothing that was registered.
    pub fn unregister(&self, handle: u64) -> Result<(), BridgeError> {
        register::unregister(self.state()?, handle)
    }

    /// Starts a listener or a connection; a `Reply` with its handle as ticket follows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] names what is wrong.
    pub fn open(&self, given: impl Given) -> Result<u64, BridgeError> {
        self.begin(|state| open::open(state, given.read("open")?))
    }

    /// Judges what `open` would be given, without effect.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] names what is wrong.
    pub fn check(&self, given: impl Given) -> Result<(), BridgeError> {
        self.begin(|state| open::check(state, given.read("open")?))
    }

    /// Opens a listener of a server on descriptors of the host's. With `wait` its reply is fetched
    /// with [`Port::wait`].
    ///
    /// # Errors
    /// As for [`Port::open`].
    #[cfg(unix)]
    pub fn open_pipe(&self, server: u64, reader: OwnedFd, writer: OwnedFd, wait: bool) -> Result<u64, BridgeError> {
        self.begin(|state| listeners::open_pipe(state, server, (reader, writer), wait))
    }

    /// Closes a listener or a connection, or with 0 the whole port. Asked again, the earliest
    /// deadline counts.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn close(&self, handle: u64, deadline_ms: u64) -> Result<(), BridgeError> {
        let state = self.state()?;
        let deadline = millis(Some(deadline_ms), Duration::ZERO);
        if handle == 0 {
            closing::close_port(state, deadline);
        } else {
            closing::close_one(state, handle, deadline);
        }
        Ok(())
    }

    /// The number of the port in its process.
    pub fn number(&self) -> u64 {
        self.owner.0.number
    }

    /// Sends a request, on a connection, to the client of a call or about a subscription; its
    /// `Reply` follows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`], [`crate::ErrorKind::Busy`] or
    /// [`crate::ErrorKind::Closed`]: no `Reply` follows then.
    pub fn request(&self, handle: u64, json: &[u8]) -> Result<u64, BridgeError> {
        // Also while the port is being closed: calls in flight continue until the deadline, and may
        // need it.
        self.run(|state| requests::request(state, handle, config::read("request", json)?))
    }

    /// [`Port::request`] with a typed message.
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
    /// [`crate::ErrorKind::InvalidArgument`]; a call that is done already is not an error.
    pub fn notify(&self, target: u64, json: &[u8]) -> Result<(), BridgeError> {
        self.run(|state| notifications::notify(state, target, Notification::read(target, json)?))
    }

    /// [`Port::notify`] with a typed message.
    ///
    /// # Errors
    /// As for [`Port::notify`].
    pub fn notify_message(&self, target: u64, given: Notification) -> Result<(), BridgeError> {
        self.run(|state| notifications::notify(state, target, given))
    }

    /// Cancels a request, or the answering of one that a web framework brought. One that is done
    /// already is not an error.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn cancel(&self, ticket: u64, reason: &str) -> Result<(), BridgeError> {
        self.run(|state| {
            match HandleKind::of(ticket) {
                Some(HandleKind::Request) => requests::cancel(state, ticket, reason),
                Some(HandleKind::Exchange) => exchanges::cancel(state, ticket),
                _ => {}
            }
            Ok(())
        })
    }

    /// Answers a call. `false`: it was done already.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the body is not what the shape says; the call can
    /// still be answered.
    pub fn complete(&self, ticket: u64, shape: Shape, body: Bytes) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Result(shape, body)))
    }

    /// Answers a call with a failure. `false`: it was done already.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is not a failure; the call can still be
    /// answered.
    pub fn fail(&self, ticket: u64, json: &[u8]) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Failure(config::read("fail", json)?)))
    }

    /// [`Port::fail`] with a typed message.
    ///
    /// # Errors
    /// As for [`Port::fail`].
    pub fn fail_message(&self, ticket: u64, given: Fail) -> Result<bool, BridgeError> {
        self.run(|state| calls::answer(state, ticket, HostAnswer::Failure(given)))
    }

    /// Passes a request of a web framework to a mounted listener; the response arrives as
    /// `HttpHead`, `HttpChunk`s and `HttpEnd` with the ticket that this returns. `end`: it has no
    /// body.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is an invalid head of a request,
    /// [`crate::ErrorKind::Closed`] if there is no such listener.
    pub fn http_request(&self, listener: u64, head: &[u8], end: bool) -> Result<u64, BridgeError> {
        self.begin(|state| exchanges::request(state, listener, &config::read("http_request", head)?, end))
    }

    /// [`Port::http_request`] with a typed message.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Closed`] if there is no such listener.
    pub fn http_request_message(&self, listener: u64, head: &HttpHead, end: bool) -> Result<u64, BridgeError> {
        self.begin(|state| exchanges::request(state, listener, head, end))
    }

    /// Gives a piece of a request's body; `end`: the last one. `false`: the rest is not wanted any
    /// more.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn http_body(&self, exchange: u64, bytes: Bytes, end: bool) -> Result<bool, BridgeError> {
        self.run(|state| Ok(exchanges::body(state, exchange, bytes, end)))
    }

    /// Grants credit for more bytes of a response. Does nothing if it is over.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn http_credit(&self, exchange: u64, bytes: u64) -> Result<(), BridgeError> {
        exchanges::credit(self.state()?, exchange, usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    /// Takes events; waits for the first one up to `wait_ms`.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn drain(&self, lane: Lane, max: usize, wait_ms: u64) -> Result<Vec<Event>, BridgeError> {
        Ok(self.state()?.queue.drain(lane, max, millis(Some(wait_ms), Duration::ZERO)))
    }

    /// Takes the first event of the main lane, without waiting.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn take(&self) -> Result<Option<Event>, BridgeError> {
        Ok(self.state()?.queue.take(Lane::Queue))
    }

    /// The number of events that wait in the main lane.
    pub fn pending(&self) -> usize {
        self.owner.0.queue.pending()
    }

    /// Looks for the reply of a request or open that was made with `"wait": true`, without waiting.
    /// With `progress`, the latest progress comes first; otherwise it stays until the reply is
    /// there.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if there is no such request, or its reply was fetched
    /// already.
    pub fn fetch(&self, ticket: u64, progress: bool) -> Result<Fetched, BridgeError> {
        if progress && let Some(body) = self.slot(ticket)?.take_progress() {
            return Ok(Fetched::Progress(body));
        }
        Ok(self.wait(ticket, 0)?.map_or(Fetched::Nothing, Fetched::Reply))
    }

    /// Returns whether a listener or connection is open or being opened. It changes before `Closed`
    /// enters the queue.
    pub fn is_open(&self, handle: u64) -> bool {
        let tables = self.owner.0.tables.lock();
        match HandleKind::of(handle) {
            Some(HandleKind::Listener) => tables.listeners.get(handle).is_some(),
            Some(HandleKind::Connection) => tables.connections.get(handle).is_some(),
            _ => false,
        }
    }

    /// Waits for the reply of a request or open that was made with `"wait": true`: its result as
    /// JSON, or its error.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if there is no such request, or its reply was fetched
    /// already.
    pub fn wait(&self, ticket: u64, wait_ms: u64) -> Result<Option<Result<Bytes, BridgeError>>, BridgeError> {
        let slot = self.slot(ticket)?;
        let reply = slot.wait(millis(Some(wait_ms), Duration::ZERO));
        if reply.is_some() {
            self.owner.0.tables.lock().replies.remove(&ticket);
        }
        Ok(reply)
    }

    fn slot(&self, ticket: u64) -> Result<Arc<ReplySlot>, BridgeError> {
        let slot = self.state()?.tables.lock().reply_slot(ticket);
        slot.ok_or_else(|| BridgeError::stale("a request to wait for", ticket))
    }

    /// Facts about a call, a token to verify, a connection, a server, or (0) the port.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the number names none of these, or no longer.
    pub fn describe(&self, target: u64) -> Result<Vec<u8>, BridgeError> {
        description::describe(self.state()?, target)
    }

    /// Telemetry of a request, as a `TelemetryRecord`: with a request, its start, before it is sent
    /// to the target; without one, the start of what the call `target` belongs to, or the end of
    /// the request `target`, once. `None`: it is not observed, or is over.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the JSON is not a request.
    pub fn telemetry(&self, target: u64, request: &[u8]) -> Result<Option<Vec<u8>>, BridgeError> {
        let request = if request.is_empty() { None } else { Some(config::read("telemetry", request)?) };
        self.telemetry_message(target, request.as_ref())
    }

    /// [`Port::telemetry`] with a typed message.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn telemetry_message(&self, target: u64, request: Option<&Request>) -> Result<Option<Vec<u8>>, BridgeError> {
        observed::record(self.state()?, target, request)
    }

    /// The load of all servers that report, as `TelemetryMeasurements`. `None`: there are none, or
    /// the port is closing.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn measurements(&self) -> Result<Option<Vec<u8>>, BridgeError> {
        observed::measurements(self.state()?)
    }

    /// The deadline of [`Port::close`] that the options name: for listeners of a server what
    /// `drainDeadlineMs` leaves to calls in flight, for a connection `closeTimeoutMs`. A connection
    /// that is not open needs no time.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the number names neither a server nor a connection,
    /// or a server that no longer exists.
    pub fn close_deadline(&self, handle: u64) -> Result<Duration, BridgeError> {
        let state = self.state()?;
        match HandleKind::of(handle) {
            Some(HandleKind::Connection) => {
                let tables = state.tables.lock();
                let connection = tables.connections.get(handle).and_then(OpenState::get);
                Ok(connection.map_or(Duration::ZERO, |connection| connection.client.options().close_timeout))
            }
            _ => Ok(state.server(handle)?.options().drain_time()),
        }
    }

    /// Returns whether a call is no longer wanted (or done).
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn cancelled(&self, ticket: u64) -> Result<bool, BridgeError> {
        Ok(!calls::is_waiting(self.state()?, ticket))
    }

    /// A descriptor for the host to watch after the event. The host owns and closes it. `None`: the
    /// handoff is over.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn watch(&self, handle: u64) -> Result<Option<File>, BridgeError> {
        Ok(self.state()?.handoffs.get(handle).and_then(|handoff| handoff.watch()))
    }

    /// Polls for the next message of a pipe that was handed to the host. Polls for a fraction of a
    /// millisecond and only where that is worthwhile: right after a message of ours to a peer that
    /// has replied quickly of late. Returns whether [`Self::read_ready`] would find something.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn busy_poll(&self, handle: u64) -> Result<bool, BridgeError> {
        let state = self.state()?;
        Ok(state.handoffs.get(handle).is_some_and(|handoff| handoff.busy_poll()))
    }

    /// Reads once from a pipe that was handed to the host, and handles the messages. Their events
    /// are then in the queue, and the bell is not rung for them. `false`: the host no longer has
    /// the reading, and stops watching the pipe.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn read_ready(&self, handle: u64) -> Result<bool, BridgeError> {
        let state = self.state()?;
        let Some(handoff) = state.handoffs.get(handle) else { return Ok(false) };
        self.run(|state| Ok(state.queue.without_bell(|| handoff.read_ready())))
    }
}

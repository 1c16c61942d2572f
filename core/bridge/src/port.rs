//! The port: an event queue, its bell, and the things of one loop or thread of the host.

use super::{
    Bell, BridgeError, ErrorKind, Event, EventKind, Lane, Shape,
    config::{self, millis},
    description,
    entries::{Entry, MAX_WAITING, Slot, Waiting},
    host_reads::Handoffs,
    log::{self, LogRecord},
    log_scope::{LogScope, Scoped},
    message::{
        self, Fail, HttpHead, Notification, NotifyCall, NotifyConnection, NotifyServer, Open, Registration, Request,
    },
    notifications, outcomes,
    process::ProcessRuntime,
    queue::Queue,
    requests::too_many_wait,
    table::Table,
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;
use trunkline::bridge_support::{Closing, Deadline, Mutex};
use trunkline::{
    client::Client,
    runtime::Runtime,
    server::{Call, CallInfo, Server},
};

/// A port. Cheap to clone; clones are the same port. Dropping the last one closes it with deadline 0.
#[derive(Clone)]
pub struct Port {
    owner: Arc<Owner>,
}

struct Owner(Arc<PortInner>);

impl Drop for Owner {
    fn drop(&mut self) {
        if self.0.check().is_ok() {
            self.0.queue.mute();
            // A host that has closed it and lets it go means the deadline that it gave.
            if !self.0.closing.load(Ordering::Acquire) {
                self.0.close_port(Duration::ZERO);
            }
        }
    }
}

/// The outcome of a request or an open.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// `true` if `body` is a result; otherwise it is an error object.
    pub ok: bool,
    /// JSON.
    pub body: Bytes,
}

/// The state of a reply that a thread waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Fetched {
    /// Neither a reply nor progress has come.
    Nothing,
    /// The latest progress: JSON, the params of its notification.
    Progress(Bytes),
    /// The reply; it is fetched once.
    Reply(Reply),
}

pub(super) struct PortInner {
    pid: u32,
    pub(super) table: Mutex<Table<Entry>>,
    pub(super) queue: Queue,
    pub(super) handoffs: Handoffs,
    process: Mutex<Option<Arc<ProcessRuntime>>>,
    /// No new work is taken.
    closing: AtomicBool,
    ending: Closing,
}

impl Port {
    /// A new port. Starts nothing.
    pub fn new(bell: impl Bell) -> Self {
        Self::make(Box::new(bell), None)
    }

    /// A new port whose host has threads that sleep outside of the core until a reply comes or an event is pending.
    ///
    /// `bell_for_threads` rings for each reply of a request or open that was made with `"wait": true`, for progress of such a
    /// request, and for each end of a listener or connection. These threads look with [`Port::fetch`], [`Port::take`] and
    /// [`Port::is_open`], so that progress of their requests does not enter the queue.
    pub fn with_threads(bell: impl Bell, bell_for_threads: impl Bell) -> Self {
        Self::make(Box::new(bell), Some(Box::new(bell_for_threads)))
    }

    fn make(bell: Box<dyn Bell>, bell_for_threads: Option<Box<dyn Bell>>) -> Self {
        let inner = Arc::new(PortInner {
            pid: std::process::id(),
            table: Mutex::default(),
            queue: Queue::new(bell, bell_for_threads),
            handoffs: Handoffs::default(),
            process: Mutex::new(None),
            closing: AtomicBool::new(false),
            ending: Closing::default(),
        });
        log::attach(Arc::downgrade(&inner));
        Self { owner: Arc::new(Owner(inner)) }
    }

    pub(super) fn inner(&self) -> Result<&Arc<PortInner>, BridgeError> {
        let inner = &self.owner.0;
        inner.check().map(|()| inner)
    }

    /// While it lives, what this thread logs is this port's.
    pub(super) fn log_scope(&self) -> LogScope {
        LogScope::begin(&Arc::downgrade(&self.owner.0))
    }

    fn open_inner(&self) -> Result<&Arc<PortInner>, BridgeError> {
        let inner = self.inner()?;
        if inner.closing.load(Ordering::Acquire) { Err(BridgeError::closed()) } else { Ok(inner) }
    }

    /// Registers a server, something that one offers, or a hook; `docs/bridge.md` has the JSON of each kind.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names what is wrong.
    pub fn register(&self, kind: &str, json: &[u8]) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        let inner = self.open_inner()?;
        inner.register(message::read_registration(kind, json)?)
    }

    /// [`Port::register`] with a typed message.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names what is wrong.
    pub fn register_message(&self, given: Registration) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        self.open_inner()?.register(given)
    }

    /// Takes a registered thing away.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the handle names nothing that was registered.
    pub fn unregister(&self, handle: u64) -> Result<(), BridgeError> {
        let inner = self.inner()?;
        let mut table = inner.table.lock();
        if !matches!(table.get(handle), Some(Entry::Server(_) | Entry::Registered { .. } | Entry::Verifier { .. })) {
            return Err(BridgeError::stale("something registered", handle));
        }
        let entry = table.remove(handle);
        let mut orphans = Vec::new();
        if let Some(Entry::Server(freed)) = &entry {
            // Its features stay while a listener or connection serves it, but have no handles any more.
            let of_it = |entry: &Entry| matches!(entry, Entry::Registered { server, .. } | Entry::Verifier { server, .. } if server.is(freed));
            let numbers: Vec<_> = table.iter().filter(|(_, entry)| of_it(entry)).map(|(number, _)| number).collect();
            orphans.extend(numbers.into_iter().filter_map(|number| table.remove(number)));
        }
        drop(table);
        if let Some(Entry::Registered { server, registration: Some(registration) }) = entry {
            server.remove(&registration);
        }
        Ok(())
    }

    /// Starts a listener or a connection; a `Reply` with its handle as ticket follows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names what is wrong with the JSON.
    pub fn open(&self, json: &[u8]) -> Result<u64, BridgeError> {
        let inner = self.open_inner()?;
        inner.open(message::read_open(json)?)
    }

    /// [`Port::open`] with a typed message.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names what is wrong.
    pub fn open_message(&self, given: Open) -> Result<u64, BridgeError> {
        self.open_inner()?.open(given)
    }

    /// Closes a listener or a connection, or with 0 the whole port. Asked again, the earliest deadline counts.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn close(&self, handle: u64, deadline_ms: u64) -> Result<(), BridgeError> {
        let inner = self.inner()?;
        let deadline = millis(Some(deadline_ms), Duration::ZERO);
        if handle == 0 {
            inner.close_port(deadline);
        } else {
            inner.close_one(handle, deadline);
        }
        Ok(())
    }

    /// Sends a request, on a connection or to the client of a call; its `Reply` follows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`], [`ErrorKind::Busy`], or [`ErrorKind::Closed`]: no `Reply` follows then.
    pub fn request(&self, handle: u64, json: &[u8]) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        // Also while the port is being closed: calls in flight go on until the deadline, and may need it.
        self.inner()?.request(handle, config::read("request", json)?)
    }

    /// [`Port::request`] with a typed message.
    ///
    /// # Errors
    /// As for [`Port::request`].
    pub fn request_message(&self, handle: u64, given: Request) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        self.inner()?.request(handle, given)
    }

    /// Notifies: what a handler says while it runs, what a server tells its clients, or a client notification on a connection.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`]; a call that is done already is no error.
    pub fn notify(&self, target: u64, json: &[u8]) -> Result<(), BridgeError> {
        self.notify_given(target, GivenNotification::Json(json))
    }

    /// [`Port::notify`] with a typed message.
    ///
    /// # Errors
    /// As for [`Port::notify`].
    pub fn notify_message(&self, target: u64, given: Notification) -> Result<(), BridgeError> {
        self.notify_given(target, GivenNotification::Typed(given))
    }

    fn notify_given(&self, target: u64, given: GivenNotification<'_>) -> Result<(), BridgeError> {
        let _scope = self.log_scope();
        let inner = self.inner()?;
        enum Target {
            Call(CallInfo),
            Connection(Client),
            Server(Server),
        }
        let found = match inner.table.lock().get_mut(target) {
            Some(Entry::Opening { connection: true, waiting, .. }) => {
                let given = given.of_connection()?;
                if waiting.len() >= MAX_WAITING {
                    return Err(too_many_wait());
                }
                waiting.push(Waiting::Notification(given));
                return Ok(());
            }
            Some(Entry::Call { facts, .. }) => Target::Call(facts.clone()),
            Some(Entry::Connection { client, .. }) => Target::Connection(client.clone()),
            Some(Entry::Server(server)) => Target::Server(server.clone()),
            // A call that ended a moment ago, or a wrong number: neither can be notified, and only the host knows which.
            _ => return Ok(()),
        };
        match found {
            Target::Call(facts) => {
                notifications::of_call(&facts, given.of_call()?);
                Ok(())
            }
            Target::Server(server) => notifications::of_server(&server, given.of_server()?),
            Target::Connection(client) => notifications::of_connection(&client, &given.of_connection()?),
        }
    }

    /// Cancels a request, or the answering of one that a web framework brought. One that is done already is no error.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn cancel(&self, ticket: u64, reason: &str) -> Result<(), BridgeError> {
        let _scope = self.log_scope();
        let inner = self.inner()?;
        inner.cancel(ticket, reason);
        Ok(())
    }

    /// Answers a call. `false`: it was done already.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the body is not what the shape says; the call can still be answered.
    pub fn complete(&self, ticket: u64, shape: Shape, body: Bytes) -> Result<bool, BridgeError> {
        let _scope = self.log_scope();
        let inner = self.inner()?;
        if let Some(answered) = inner.complete_verification(ticket, shape, &body)? {
            return Ok(answered);
        }
        let outcome = outcomes::of(shape, body)?;
        let call = inner.take_call(ticket);
        Ok(call.is_some_and(|call| call.complete(outcome)))
    }

    /// Answers a call with a failure. `false`: it was done already.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the JSON is no failure; the call can still be answered.
    pub fn fail(&self, ticket: u64, json: &[u8]) -> Result<bool, BridgeError> {
        self.fail_message(ticket, config::read("fail", json)?)
    }

    /// [`Port::fail`] with a typed message.
    ///
    /// # Errors
    /// As for [`Port::fail`].
    pub fn fail_message(&self, ticket: u64, given: Fail) -> Result<bool, BridgeError> {
        let _scope = self.log_scope();
        let inner = self.inner()?;
        if let Some(answered) = inner.fail_verification(ticket, &given)? {
            return Ok(answered);
        }
        let outcome = outcomes::failure(given)?;
        let call = inner.take_call(ticket);
        Ok(call.is_some_and(|call| call.complete(outcome)))
    }

    /// Gives a request of a web framework to a mounted listener; the response comes as `HttpHead`, `HttpChunk`s and `HttpEnd`
    /// with the ticket that this returns. `end`: it has no body.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the JSON is no head of a request, [`ErrorKind::Closed`] if there is no such listener.
    pub fn http_request(&self, listener: u64, head: &[u8], end: bool) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        self.open_inner()?.http_request(listener, &config::read("http_request", head)?, end)
    }

    /// [`Port::http_request`] with a typed message.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`] if there is no such listener.
    pub fn http_request_message(&self, listener: u64, head: &HttpHead, end: bool) -> Result<u64, BridgeError> {
        let _scope = self.log_scope();
        self.open_inner()?.http_request(listener, head, end)
    }

    /// Gives a piece of a request's body; `end`: the last one. `false`: the rest is not wanted any more.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn http_body(&self, exchange: u64, bytes: Bytes, end: bool) -> Result<bool, BridgeError> {
        let _scope = self.log_scope();
        Ok(self.inner()?.http_body(exchange, bytes, end))
    }

    /// Lets so many more bytes of a response come. One that is over is no error.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn http_credit(&self, exchange: u64, bytes: u64) -> Result<(), BridgeError> {
        self.inner()?.http_credit(exchange, usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    /// Takes events; waits for the first one up to `wait_ms`.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn drain(&self, lane: Lane, max: usize, wait_ms: u64) -> Result<Vec<Event>, BridgeError> {
        Ok(self.inner()?.queue.drain(lane, max, millis(Some(wait_ms), Duration::ZERO)))
    }

    /// Takes the first event of the main lane, without waiting.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn take(&self) -> Result<Option<Event>, BridgeError> {
        Ok(self.inner()?.queue.drain(Lane::Queue, 1, Duration::ZERO).pop())
    }

    /// The number of events that wait in the main lane.
    pub fn pending(&self) -> usize {
        self.owner.0.queue.pending()
    }

    /// Looks for the reply of a request or open that was made with `"wait": true`, without waiting. With `progress`, the
    /// latest progress comes first; otherwise it stays until the reply is there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if there is no such request, or its reply was fetched already.
    pub fn fetch(&self, ticket: u64, progress: bool) -> Result<Fetched, BridgeError> {
        if progress && let Some(body) = self.slot(ticket)?.take_progress() {
            return Ok(Fetched::Progress(body));
        }
        Ok(self.wait(ticket, 0)?.map_or(Fetched::Nothing, Fetched::Reply))
    }

    /// Returns whether a listener or connection is open or being opened. It changes before `SessionClosed` enters the queue.
    pub fn is_open(&self, handle: u64) -> bool {
        let is_open = |entry: &Entry| entry.is_listener() || entry.is_connection();
        self.owner.0.table.lock().get(handle).is_some_and(is_open)
    }

    /// Waits for the reply of a request or open that was made with `"wait": true`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if there is no such request, or its reply was fetched already.
    pub fn wait(&self, ticket: u64, wait_ms: u64) -> Result<Option<Reply>, BridgeError> {
        let slot = self.slot(ticket)?;
        let inner = self.inner()?;
        let reply = slot.wait(millis(Some(wait_ms), Duration::ZERO));
        if reply.is_some() {
            let mut table = inner.table.lock();
            match table.get_mut(ticket) {
                Some(Entry::Done(_)) => drop(table.remove(ticket)),
                Some(Entry::Listener { slot, .. } | Entry::Connection { slot, .. }) => *slot = None,
                _ => {}
            }
        }
        Ok(reply)
    }

    fn slot(&self, ticket: u64) -> Result<Arc<Slot>, BridgeError> {
        match self.inner()?.table.lock().get(ticket) {
            Some(
                Entry::Opening { slot: Some(slot), .. }
                | Entry::Listener { slot: Some(slot), .. }
                | Entry::Connection { slot: Some(slot), .. }
                | Entry::Request { slot: Some(slot), .. }
                | Entry::Done(slot),
            ) => Ok(Arc::clone(slot)),
            _ => Err(BridgeError::stale("a request to wait for", ticket)),
        }
    }

    /// Facts about a call, a connection, a server, or (0) the port.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if the number names none of these, or no longer.
    pub fn describe(&self, target: u64) -> Result<Vec<u8>, BridgeError> {
        let inner = self.inner()?;
        let facts = if target == 0 {
            json!({"kind": "port", "things": inner.table.lock().len(), "closing": inner.closing.load(Ordering::Acquire)})
        } else {
            match inner.table.lock().get(target) {
                Some(Entry::Call { facts, .. }) => description::of_call(facts),
                Some(Entry::Connection { client, .. }) => description::of_connection(client.server()),
                Some(Entry::Server(server)) => description::of_server(server),
                _ => return Err(BridgeError::stale("a call, connection or server", target)),
            }
        };
        serde_json::to_vec(&facts).map_err(|error| BridgeError::new(ErrorKind::Internal, error.to_string()))
    }

    /// Returns whether a call is no longer wanted (or done).
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn cancelled(&self, ticket: u64) -> Result<bool, BridgeError> {
        Ok(!matches!(self.inner()?.table.lock().get(ticket), Some(Entry::Call { .. } | Entry::Verification(_))))
    }
}

/// A notification, as a host gives it. The JSON says only together with its target what it is.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is used once")]
enum GivenNotification<'a> {
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

    fn of_server(self) -> Result<NotifyServer, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Server(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a server")),
        }
    }

    fn of_connection(self) -> Result<NotifyConnection, BridgeError> {
        match self {
            Self::Json(json) => config::read("notify", json),
            Self::Typed(Notification::Connection(given)) => Ok(given),
            Self::Typed(_) => Err(Self::mistaken("a connection")),
        }
    }

    fn mistaken(target: &str) -> BridgeError {
        BridgeError::invalid(format!("notify: the target is {target}, and the message is for something else"))
    }
}

pub(super) fn full() -> BridgeError {
    BridgeError::new(ErrorKind::Busy, "The port has no numbers left")
}

impl PortInner {
    fn check(&self) -> Result<(), BridgeError> {
        if self.pid == std::process::id() {
            return Ok(());
        }
        let text = "This port belongs to the process that was forked: make a new server or client in the child";
        Err(BridgeError::new(ErrorKind::Forked, text))
    }

    pub(super) fn takes_logs(&self) -> bool {
        !self.closing.load(Ordering::Acquire) && self.pid == std::process::id()
    }

    pub(super) fn log(&self, record: LogRecord) {
        self.queue.push_log(record);
    }

    pub(super) fn push(&self, lane: Lane, event: Event) {
        self.queue.push(lane, event);
    }

    pub(super) fn insert(&self, entry: Entry) -> Result<u64, BridgeError> {
        self.table.lock().insert(entry).ok_or_else(full)
    }

    /// The number of something that `close_port` has to end: it sees it, or it is refused here.
    pub(super) fn insert_opening(&self, entry: Entry) -> Result<u64, BridgeError> {
        let mut table = self.table.lock();
        if self.closing.load(Ordering::Acquire) {
            return Err(BridgeError::closed());
        }
        table.insert(entry).ok_or_else(full)
    }

    pub(super) fn remove(&self, number: u64) -> Option<Entry> {
        self.table.lock().remove(number)
    }

    pub(super) fn with_entry<T>(&self, number: u64, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.table.lock().get_mut(number).map(change)
    }

    /// The runtime; never a new one once the port is being closed.
    pub(super) fn process(&self) -> Result<Arc<ProcessRuntime>, BridgeError> {
        let mut process = self.process.lock();
        if self.closing.load(Ordering::Acquire) {
            return Err(BridgeError::closed());
        }
        match &*process {
            Some(running) => Ok(Arc::clone(running)),
            None => {
                let started = ProcessRuntime::acquire()?;
                *process = Some(Arc::clone(&started));
                Ok(started)
            }
        }
    }

    pub(super) fn runtime(self: &Arc<Self>) -> Result<Arc<dyn Runtime>, BridgeError> {
        Ok(Arc::new(Scoped::new(self, self.process()?.runtime())))
    }

    /// Runs a task of this port.
    pub(super) fn spawn<F>(self: &Arc<Self>, process: &ProcessRuntime, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        process.handle().spawn(Scoped::new(self, Box::pin(task)))
    }

    pub(super) fn server(&self, handle: u64) -> Result<Server, BridgeError> {
        match self.table.lock().get(handle) {
            Some(Entry::Server(server)) => Ok(server.clone()),
            _ => Err(BridgeError::stale("a server", handle)),
        }
    }

    fn take_call(&self, ticket: u64) -> Option<Call> {
        let entry = {
            let mut table = self.table.lock();
            match table.get(ticket) {
                Some(Entry::Call { .. }) => table.remove(ticket),
                _ => None,
            }
        };
        match entry {
            Some(Entry::Call { call, .. }) => call,
            _ => None,
        }
    }

    /// The outcome of an open.
    pub(super) fn opened(&self, handle: u64, slot: Option<&Slot>, outcome: Result<Value, BridgeError>) {
        let reply = match outcome {
            Ok(facts) => Reply { ok: true, body: facts.to_string().into() },
            Err(error) => Reply { ok: false, body: error.to_json().into() },
        };
        match slot {
            Some(slot) => {
                slot.fill(reply);
                self.queue.ring_for_threads();
            }
            None => self.push(
                Lane::Queue,
                Event {
                    kind: EventKind::Reply,
                    ticket: handle,
                    handle,
                    ok: reply.ok,
                    name: String::new(),
                    body: reply.body,
                },
            ),
        }
    }

    /// A listener or connection is over: told once.
    pub(super) fn ended(&self, handle: u64, error: Option<&BridgeError>) {
        let entry = {
            let mut table = self.table.lock();
            match table.get(handle) {
                Some(Entry::Listener { .. } | Entry::Connection { .. }) => table.remove(handle),
                _ => None,
            }
        };
        if entry.is_some() {
            let body = error.map_or_else(|| b"{}".to_vec(), BridgeError::to_json);
            self.push(
                Lane::Queue,
                Event {
                    kind: EventKind::SessionClosed,
                    ticket: 0,
                    handle,
                    ok: error.is_none(),
                    name: String::new(),
                    body: body.into(),
                },
            );
            self.queue.ring_for_threads();
        }
    }

    /// Refuses new work and ends everything; `Stopped` is the last event.
    fn close_port(self: &Arc<Self>, patience: Duration) {
        let first = !self.closing.swap(true, Ordering::AcqRel);
        let Some(process) = self.process.lock().clone() else {
            if first {
                self.queue.stop(Event::default());
            }
            return;
        };
        let port = Arc::clone(self);
        self.ending.begin(process.handle(), patience, |deadline| async move {
            // Handlers go on until the deadline, and may need the connections for it.
            port.end_all(Entry::is_listener, &deadline).await;
            port.end_all(Entry::is_connection, &deadline).await;
            port.queue.stop(Event::default());
            let process = port.process.lock().take();
            drop(process);
        });
    }

    async fn end_all(self: &Arc<Self>, which: fn(&Entry) -> bool, deadline: &Deadline) {
        let handles: Vec<_> = {
            let table = self.table.lock();
            table.iter().filter(|(_, entry)| which(entry)).map(|(number, _)| number).collect()
        };
        let end = |handle| tokio::spawn(Arc::clone(self).end_by(handle, deadline.clone()));
        for task in handles.into_iter().map(end).collect::<Vec<_>>() {
            // A task that panicked has closed nothing more; the rest still ends.
            let _ = task.await;
        }
    }

    async fn end_by(self: Arc<Self>, handle: u64, mut deadline: Deadline) {
        loop {
            let left = deadline.left();
            tokio::select! {
                () = Arc::clone(&self).end(handle, left) => return,
                // The earliest time counts.
                () = deadline.moved() => {}
            }
        }
    }

    fn close_one(self: &Arc<Self>, handle: u64, deadline: Duration) {
        if let Some(process) = self.process.lock().clone() {
            process.handle().spawn(Arc::clone(self).end(handle, deadline));
        }
    }
}

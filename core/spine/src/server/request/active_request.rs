//! An active request: its core, its registry snapshot, and the messages that belong to it.

use super::{
    mapper::ResultMapper,
    request_log::{RequestRecord, span_of},
    request_state::{Binding, Sealer, StateKey},
    resumptions::Resumptions,
    rounds::RequestRounds,
    tasks::{StoredTasks, Task, TaskOwner, Tasks},
};
use crate::{
    cause::Cause,
    counts::Holder,
    engine::{CallKey, CallProgress, RequestInfo},
    protocol::{RawJson, RequestId, RevisionFeature, RpcError, envelope, method, model::LoggingLevel},
    server::{
        handlers::{Cancellation, ResultCallback, Vars},
        registry::{RegisteredMount, Snapshot},
        result::ResultWriter,
        session::{
            CallObserver, Connection, ConversationOpener, OutgoingMessage, Reply, ServerState, StartedCall, client_of,
        },
    },
    sync::Mutex,
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    iter,
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A request that is being served by one server: its core, and what that server adds. It sees a
/// single registry snapshot.
pub(in crate::server) struct ActiveRequest {
    core: Arc<RequestCore>,
    pub(in crate::server) snapshot: Arc<Snapshot>,
    /// True if the handler may turn the request into a task.
    pub(super) may_become_task: AtomicBool,
    /// The request at the outer server, if this server is mounted there.
    pub(super) within: Option<Within>,
}

/// The part of a request that every request has and that lives as long as it does. All servers that
/// it passes through share it.
pub(in crate::server) struct RequestCore {
    pub(in crate::server) connection: Arc<Connection>,
    pub(in crate::server) services: Arc<Services>,
    pub(in crate::server) key: CallKey,
    pub(super) id: RequestId,
    pub(in crate::server) method: &'static str,
    pub(super) route: Route,
    /// Its row of the method table.
    pub(super) row: &'static method::Method,
    /// The parameters as the client sent them, which the state of later rounds is bound to.
    pub(super) params: Option<RawJson>,
    pub(in crate::server) info: RequestInfo,
    pub(in crate::server) reply: Reply,
    pub(super) cancellation: Cancellation,
    pub(super) observer: CallObserver,
    rounds: RequestRounds,
    vars: OnceLock<Vars>,
    record: RequestRecord,
    task: OnceLock<Arc<Task>>,
    /// The latest progress, while the client is behind. Locked before the conversation.
    held_progress: Mutex<Option<Bytes>>,
}

impl Deref for ActiveRequest {
    type Target = RequestCore;

    fn deref(&self) -> &RequestCore {
        &self.core
    }
}

/// The outer request of a request in a mounted server.
pub(super) struct Within {
    pub(super) outer: Arc<ActiveRequest>,
    pub(super) mount: Arc<RegisteredMount>,
}

/// The tasks and state keys, shared by all requests of a server.
pub(in crate::server) struct Services {
    pub(in crate::server) tasks: Arc<Tasks>,
    pub(super) sealer: Sealer,
    pub(super) resumptions: Arc<Resumptions>,
    /// Opened when a task is first created or requested, if the server has a store.
    stored: OnceLock<Result<Arc<StoredTasks>, RpcError>>,
    looks_for_tasks: AtomicBool,
}

impl Services {
    pub(in crate::server) fn new(state_keys: &[StateKey]) -> Self {
        Self {
            tasks: Arc::default(),
            sealer: Sealer::new(state_keys),
            resumptions: Arc::default(),
            stored: OnceLock::new(),
            looks_for_tasks: AtomicBool::new(false),
        }
    }

    /// The tasks in the store of a server, if it has one.
    fn stored_tasks(&self, connection: &Connection) -> Result<Option<&Arc<StoredTasks>>, RpcError> {
        let runtime = connection.runtime();
        let opened = connection.server().store(runtime).map_err(|error| {
            tracing::error!(target: "trunkline::server", "{error}");
            RpcError::internal()
        });
        let Some(store) = opened? else { return Ok(None) };
        let stored = self.stored.get_or_init(|| {
            let opener = ConversationOpener::of(connection);
            let stored = StoredTasks::start(store.clone(), Arc::clone(runtime), &self.tasks, opener);
            stored.ok_or_else(RpcError::internal)
        });
        stored.as_ref().map(Some).map_err(Clone::clone)
    }
}

/// The function of a method.
pub(in crate::server) type Route = fn(&ActiveRequest, Option<&RawJson>) -> Result<Routed, RpcError>;

/// The next step of a request: a handler, or the result.
pub(in crate::server) enum Routed {
    Run(Arc<dyn ResultMapper>, RawJson),
    /// Like `Run`, but as a task, with the time to live that the client requested.
    RunAsTask(Arc<dyn ResultMapper>, RawJson, Option<Duration>),
    /// A mounted server, with the parameters under its own names.
    Mounted(Arc<RegisteredMount>, RawJson),
    Answer(RawJson),
    /// Another request or a timer will respond later.
    Deferred(Deferred),
}

/// Responds to a request later.
pub(in crate::server) type Deferred = Box<dyn FnOnce(&Arc<ActiveRequest>, Responder) + Send>;

/// The receiver of a result.
pub(in crate::server) enum Responder {
    /// The client.
    Client,
    /// A part of the server, such as middleware that wraps the request.
    Inside(CallScope, ResultCallback),
}

/// The context of a call within its request.
#[derive(Clone, Default)]
pub(in crate::server) struct CallScope {
    /// In a binding: the middleware around the call, or else the sender of the request.
    pub(super) cause: Option<Arc<dyn Cause>>,
    /// The request info, if middleware has replaced its `_meta`.
    pub(super) info: Option<Arc<RequestInfo>>,
}

impl Responder {
    /// The scope of the call whose result it receives.
    pub(in crate::server) fn scope(&self, context: &ActiveRequest) -> CallScope {
        match self {
            Self::Client => CallScope { cause: context.cause(), info: None },
            Self::Inside(scope, _) => scope.clone(),
        }
    }
}

impl ActiveRequest {
    pub(in crate::server) fn new(
        connection: &Arc<Connection>,
        services: &Arc<Services>,
        route: Route,
        started: StartedCall,
    ) -> Arc<Self> {
        let StartedCall { call, reply, observer } = started;
        let transport = reply.arrival().and_then(|arrival| arrival.span.as_ref());
        let observer = observer.with_span(transport, || span_of(&call, &reply));
        let core = RequestCore {
            connection: Arc::clone(connection),
            services: Arc::clone(services),
            key: call.key,
            id: call.id,
            method: call.method.name,
            route,
            row: call.method,
            params: call.params,
            info: call.info,
            reply,
            cancellation: Cancellation::default(),
            observer,
            rounds: RequestRounds::default(),
            vars: OnceLock::new(),
            record: RequestRecord::begin(&**connection.runtime()),
            task: OnceLock::new(),
            held_progress: Mutex::default(),
        };
        Self::at(Arc::new(core), connection.server().snapshot(), None)
    }

    /// The same request in a mounted server: with the features and middleware of that server.
    /// Everything else, including options, is that of the outer server.
    pub(super) fn within(self: &Arc<Self>, mount: &Arc<RegisteredMount>, snapshot: Arc<Snapshot>) -> Arc<Self> {
        let within = Within { outer: Arc::clone(self), mount: Arc::clone(mount) };
        Self::at(Arc::clone(&self.core), snapshot, Some(within))
    }

    fn at(core: Arc<RequestCore>, snapshot: Arc<Snapshot>, within: Option<Within>) -> Arc<Self> {
        Arc::new(Self { core, snapshot, may_become_task: AtomicBool::new(false), within })
    }

    pub(in crate::server) fn server(&self) -> &Arc<ServerState> {
        self.connection.server()
    }

    pub(in crate::server) fn results(&self) -> &ResultWriter {
        &self.server().results
    }

    /// The sender of the request, in a binding.
    pub(super) fn cause(&self) -> Option<Arc<dyn Cause>> {
        self.reply.arrival()?.cause.clone()
    }

    /// The id of the session, which exists only over HTTP up to 2025-11-25.
    pub(super) fn session_id(&self) -> Option<&str> {
        self.reply.arrival()?.session_id()
    }

    /// The tasks in the store of the server, if it has one.
    pub(in crate::server) fn stored_tasks(&self) -> Result<Option<&Arc<StoredTasks>>, RpcError> {
        self.services.stored_tasks(&self.connection)
    }

    /// On the first request, starts looking for tasks of dead processes.
    pub(super) fn look_for_tasks(&self) {
        let looks = &self.services.looks_for_tasks;
        if self.server().options().store.is_none() || looks.load(Ordering::Relaxed) || !self.snapshot.offers().tasks {
            return;
        }
        if !looks.swap(true, Ordering::Relaxed) {
            // An error is logged, and will recur with the first task.
            let _ = self.stored_tasks();
        }
    }

    /// The task that this request has become, if any.
    pub(in crate::server) fn task(&self) -> Option<&Arc<Task>> {
        self.core.task.get()
    }

    /// Turns the request into this task.
    pub(super) fn set_task(&self, task: Arc<Task>) {
        let _ = self.core.task.set(task);
    }

    /// The rounds of the request.
    pub(super) fn rounds(&self) -> &RequestRounds {
        &self.core.rounds
    }

    /// The vars of the request.
    pub(super) fn vars(&self) -> &Vars {
        self.core.vars.get_or_init(Vars::default)
    }

    /// The request at this server, and then at each server around it.
    pub(super) fn outwards(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |context| Some(&*context.within.as_ref()?.outer))
    }

    /// The parameters as the client sent them.
    pub(super) fn request_params(&self) -> Option<&RawJson> {
        self.params.as_ref()
    }

    /// The owner of the tasks that this request creates or asks for: the verified principal, or
    /// else the session. The modern era has no sessions, even if its requests share a connection
    /// with one.
    pub(in crate::server) fn owner(&self) -> TaskOwner {
        let session = Task::is_core(self.info.revision).then_some(self.connection.number);
        let session_id = session.and_then(|_| self.session_id()).map(str::to_owned);
        TaskOwner { principal: self.info.principal(), session, session_id }
    }

    /// The account that its resource usage is charged to.
    pub(in crate::server) fn holder(&self) -> Holder {
        match self.info.principal() {
            principal if !principal.is_empty() => Holder::Principal(principal),
            _ => match self.reply.arrival().and_then(|arrival| arrival.rate_limit_key.as_ref()) {
                Some(address) => Holder::Address(Arc::clone(address)),
                None => Holder::Conversation(self.connection.number),
            },
        }
    }

    /// The client that it is charged to, if there is a per-client limit.
    pub(in crate::server) fn client(&self) -> Option<Arc<str>> {
        client_of(&self.info, &self.reply)
    }

    /// The values that the state of this request's rounds is bound to.
    pub(super) fn binding(&self) -> Binding<'_> {
        Binding {
            server: self.results().server_name(),
            resource: self.reply.resource(),
            principal: self.info.principal(),
            method: self.method,
            params: self.request_params(),
            now: self.connection.runtime().unix_time(),
        }
    }

    /// The client's capabilities.
    pub(in crate::server) fn client_capabilities(&self) -> Value {
        self.info.client_capabilities.parse().unwrap_or_default()
    }

    /// Returns whether tasks are available to this client.
    pub(in crate::server) fn offers_tasks(&self) -> bool {
        // In the legacy era, tasks cannot be retrieved without a session.
        self.snapshot.offers().tasks && !self.connection.stateless
    }

    /// Fails if there is no session that a setting could apply to: up to 2025-11-25, on a server
    /// without sessions.
    pub(in crate::server) fn check_session(&self) -> Result<(), RpcError> {
        self.check_offered(!self.connection.stateless)
    }

    /// Fails as for an unknown method if the server does not offer it.
    pub(in crate::server) fn check_offered(&self, is_offered: bool) -> Result<(), RpcError> {
        if is_offered { Ok(()) } else { Err(RpcError::method_not_found(self.method)) }
    }

    /// Reports progress, if the client asked for it and the value increased (PRG-02).
    pub(super) fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.info.progress_token else { return };
        let report = CallProgress { progress, total, message };
        match self.task() {
            // PRG-07: the progress token remains valid until the task is over.
            Some(task) if Task::is_core(self.info.revision) => {
                task.advance(progress, || self.notify(method::PROGRESS, &report.params(token)));
            }
            Some(_) => {}
            None => {
                // Locked until the message is sent, because another thread may report a higher
                // value or respond (PRG-05).
                let mut held = self.held_progress.lock();
                let message = self.connection.conversation().progress(self.key, &self.info, &report);
                let Some(message) = message else { return };
                // The next one replaces it, or the response follows.
                if self.reply.is_behind() {
                    *held = Some(message);
                } else {
                    *held = None;
                    self.send(OutgoingMessage::Notification(message), method::PROGRESS);
                }
            }
        }
    }

    /// Sends the latest progress, if it was held back.
    pub(super) fn send_held_progress(&self) {
        if let Some(message) = self.held_progress.lock().take() {
            self.send(OutgoingMessage::Notification(message), method::PROGRESS);
        }
    }

    /// The client's log level; `None` if it wants no log messages.
    pub(super) fn log_level(&self) -> Option<LoggingLevel> {
        // LOG-04: only clients that ask for log messages get them.
        if self.info.revision.supports(RevisionFeature::LogLevelPerRequest) {
            return self.info.log_level;
        }
        // LOG-01: logging is not declared without a session.
        (!self.connection.stateless).then(|| self.connection.session.log_level.get())
    }

    /// Sends a log message on this request's own stream (LOG-05), unless it is below the client's
    /// level or the client reads too slowly (LOG-08).
    pub(super) fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        let wanted = self.log_level().is_some_and(|least| level >= least);
        if !wanted || self.reply.is_congested() || !self.is_wanted() {
            return;
        }
        let mut params = json!({"level": level.as_str(), "data": data});
        if let Some(logger) = logger {
            params["logger"] = logger.into();
        }
        self.notify(method::LOG_MESSAGE, &RawJson::object(&params));
    }

    /// Sends a notification that belongs to this request: on its stream, or for its task.
    fn notify(&self, method: &str, params: &RawJson) {
        let (reply, related) = match self.task() {
            None => (&self.reply, None),
            Some(task) if Task::is_core(self.info.revision) => {
                (&self.connection.setup.unrelated, task.related(params).ok())
            }
            // TKX-22: the extension has no such notification.
            Some(_) => return,
        };
        let params = related.as_ref().unwrap_or(params).as_bytes();
        let outgoing = OutgoingMessage::Notification(envelope::encode_notification(method, Some(params)));
        self.connection.send(&**reply, outgoing, (&self.info).into(), method);
    }

    /// Sends a message on the request's own stream.
    pub(super) fn send(&self, outgoing: OutgoingMessage, method: &str) {
        self.connection.send(&*self.reply, outgoing, (&self.info).into(), method);
    }

    /// Returns whether a result in the middleware chain is still needed. Middleware around a task
    /// responds to the request with it, even if the task is already over.
    pub(super) fn has_receiver(&self) -> bool {
        self.is_wanted() || self.connection.conversation().incoming.is_open(self.key)
    }

    /// Returns whether the client still waits for the result.
    pub(in crate::server) fn is_wanted(&self) -> bool {
        match self.task() {
            Some(task) => !task.is_final(),
            None => self.connection.conversation().incoming.is_open(self.key),
        }
    }

    /// Passes the result to its receiver. Returns `false` if it is no longer needed.
    pub(in crate::server) fn deliver(&self, responder: Responder, result: Result<RawJson, RpcError>) -> bool {
        match responder {
            Responder::Client => {
                // Before the client sees the result and continues with the same state. A task holds
                // its state until it ends.
                if self.task().is_none() {
                    self.rounds().end();
                }
                let runtime = &**self.connection.runtime();
                self.observer.in_span(|| self.core.record.end(runtime, self.method, &self.id, &result));
                self.connection.end_call(self.key, |id| self.respond(id, result))
            }
            Responder::Inside(_, take) => {
                take(result);
                true
            }
        }
    }
}

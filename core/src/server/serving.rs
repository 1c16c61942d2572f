//! One request on its way to its result: through the middleware, to what answers it, and back.

use super::{
    Server,
    cache::CacheHints,
    call::{Call, CallInner},
    cancellation::Cancellation,
    catalog::{Category, RegisteredMiddleware, Snapshot},
    completion,
    connection::Connection,
    handler::Handler,
    lists, logging, mirrored,
    outbound::{Outbound, Outgoing},
    outcome::{self, Outcome},
    prompts, resources,
    rounds::Rounds,
    skills,
    tasks::{self, Task},
    tools, wording,
};
use crate::{
    engine::{CallKey, IncomingCall, Scope},
    protocol::{Feature, RawJson, RpcError, envelope, method, project},
};
use serde_json::{Value, json};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};

/// A request that is being served. One request sees one snapshot of the catalog.
pub(super) struct Serving {
    pub(super) connection: Arc<Connection>,
    pub(super) key: CallKey,
    pub(super) method: &'static str,
    /// Whether its result may require input of the client (MRTR-01).
    pub(super) takes_input: bool,
    /// Whether its complete result says how long it may be kept (CCH-01).
    pub(super) cacheable: bool,
    /// As they came: what seals the state of later rounds.
    pub(super) params: Option<RawJson>,
    pub(super) scope: Scope,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) reply: Arc<dyn Outbound>,
    pub(super) cancellation: Cancellation,
    pub(super) rounds: Rounds,
    /// Whether the handler may make a task of it.
    pub(super) may_become_task: AtomicBool,
    pub(super) task: OnceLock<Arc<Task>>,
}

/// What a handler's outcome becomes.
pub(super) trait Target: Send + Sync + 'static {
    /// The name, URI or method that the handler serves.
    fn name(&self) -> &str;
    /// Who serves it.
    fn handler(&self) -> &Arc<dyn Handler>;
    /// Turns an outcome into a result of the request's revision.
    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError>;
    /// Who may know a thing that this provider does not know; asked with the same input.
    fn otherwise(&self, _snapshot: &Snapshot) -> Option<Arc<dyn Target>> {
        None
    }
    /// Where in the chain of middleware the handler stands, if it is one.
    fn link(&self) -> Option<&Link> {
        None
    }
}

/// A request that may go to its handler, or the result that answers it already.
pub(super) enum Prepared {
    Run(Arc<dyn Target>, RawJson),
    /// The same as a task, kept for so long if the client said so.
    RunAsTask(Arc<dyn Target>, RawJson, Option<Duration>),
    Answer(RawJson),
    /// Something else answers when it is time.
    Later(Later),
}

/// Answers a request at some time.
pub(super) type Later = Box<dyn FnOnce(&Arc<Serving>, Sink) + Send>;

/// Who waits for a result.
pub(super) enum Sink {
    /// The client.
    Client,
    /// Someone inside, such as middleware that wrapped the request.
    Inside(Box<dyn FnOnce(Result<RawJson, RpcError>) + Send>),
}

impl Serving {
    pub(super) fn begin(
        connection: &Arc<Connection>,
        call: IncomingCall,
        reply: &Arc<dyn Outbound>,
        cancellation: Cancellation,
    ) {
        let serving = Arc::new(Self {
            connection: Arc::clone(connection),
            key: call.key,
            method: call.method.name,
            takes_input: call.method.takes_input,
            cacheable: call.method.cacheable,
            params: call.params,
            scope: call.scope,
            snapshot: connection.server().snapshot(),
            reply: Arc::clone(reply),
            cancellation,
            rounds: Rounds::default(),
            may_become_task: AtomicBool::new(false),
            task: OnceLock::new(),
        });
        match mirrored::check(&serving).and_then(|()| serving.rounds.resume(&serving)) {
            Ok(()) => serving.step(0, serving.params.clone(), Sink::Client),
            Err(error) => {
                serving.deliver(Sink::Client, Err(error));
            }
        }
    }

    /// Runs the chain from a link on: the next middleware that wants the method, or else what answers it.
    pub(super) fn step(self: &Arc<Self>, from: usize, params: Option<RawJson>, sink: Sink) {
        let wraps = |(_, middleware): &(usize, &Arc<RegisteredMiddleware>)| middleware.wraps(self.method);
        let found = self.snapshot.middlewares.iter().enumerate().skip(from).find(wraps);
        if let Some((position, middleware)) = found {
            let input = json!({"method": self.method, "params": params.clone().unwrap_or_else(RawJson::empty_object)});
            let input = RawJson::from_value(&input);
            let (middleware, cacheable) = (Arc::clone(middleware), self.cacheable);
            let target = Arc::new(Link { position, middleware, method: self.method, cacheable, params });
            return match input {
                Ok(input) => self.run(target, input, sink),
                Err(_) => drop(self.deliver(sink, Err(RpcError::internal()))),
            };
        }
        let prepared = catch_unwind(AssertUnwindSafe(|| self.prepare(params.as_ref())));
        match prepared {
            Ok(Ok(Prepared::Run(target, input))) => self.run(target, input, sink),
            Ok(Ok(Prepared::RunAsTask(target, input, ttl))) => match self.start_task(ttl, sink) {
                Ok((sink, (waiting, created))) => {
                    self.deliver(waiting, Ok(created));
                    self.run(target, input, sink);
                }
                Err((sink, error)) => drop(self.deliver(sink, Err(error))),
            },
            Ok(Ok(Prepared::Later(answer))) => answer(self, sink),
            Ok(Ok(Prepared::Answer(result))) => {
                self.deliver(sink, Ok(result));
            }
            Ok(Err(error)) => {
                self.deliver(sink, Err(error));
            }
            Err(_) => {
                tracing::error!(target: "trunkline", "a panic while {} was served", self.method);
                self.deliver(sink, Err(RpcError::internal()));
            }
        }
    }

    /// What answers the request.
    fn prepare(self: &Arc<Self>, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
        match self.method {
            method::TOOLS_LIST => lists::list(self, Category::Tools, params),
            method::TOOLS_CALL => tools::call(self, params),
            method::RESOURCES_LIST => lists::list(self, Category::Resources, params),
            method::RESOURCES_TEMPLATES_LIST => lists::list(self, Category::ResourceTemplates, params),
            method::RESOURCES_READ => resources::read(self, params),
            method::RESOURCES_SUBSCRIBE => resources::subscribe(self, params),
            method::RESOURCES_UNSUBSCRIBE => resources::unsubscribe(self, params),
            method::PROMPTS_LIST => lists::list(self, Category::Prompts, params),
            method::PROMPTS_GET => prompts::get(self, params),
            method::COMPLETION_COMPLETE => completion::complete(self, params),
            method::LOGGING_SET_LEVEL => logging::set_level(self, params),
            method::SKILLS_LIST => skills::list(self, params),
            method::SKILLS_GET => skills::get(self, params),
            method::RESOURCES_DIRECTORY_READ => skills::read_directory(self, params),
            method::TASKS_GET => tasks::get(self, params),
            method::TASKS_RESULT => tasks::result(self, params),
            method::TASKS_CANCEL => tasks::cancel(self, params),
            method::TASKS_LIST => tasks::list(self, params),
            method::TASKS_UPDATE => tasks::update(self, params),
            method::DISCOVER => {
                let server = self.server();
                Ok(Prepared::Answer(
                    server
                        .seal_object(server.discover_result(&self.snapshot, self.scope.revision), self.scope.revision),
                ))
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }

    /// Hands the request to a handler.
    pub(super) fn run(self: &Arc<Self>, target: Arc<dyn Target>, input: RawJson, sink: Sink) {
        let handler = Arc::clone(target.handler());
        let inner = Arc::new(CallInner::new(Arc::clone(self), target, sink));
        // A handler that panics drops its call, which fails it.
        let called = catch_unwind(AssertUnwindSafe(|| handler.call(Call::new(inner, input))));
        if called.is_err() {
            tracing::error!(target: "trunkline", "a handler of {} panicked", self.method);
        }
    }

    /// Takes what a handler came to. `false`: the request is not wanted any more.
    pub(super) fn complete(
        self: &Arc<Self>,
        call: &Arc<CallInner>,
        input: RawJson,
        sink: Sink,
        outcome: Outcome,
    ) -> bool {
        if !self.has_taker() {
            // Whoever waits inside, middleware say, must not wait for ever.
            if let Sink::Inside(take) = sink {
                take(Err(RpcError::invalid_request("The request was cancelled")));
            }
            return false;
        }
        // What was asked of the client and not answered yet decides, whatever the handler made of it.
        let outcome = match self.rounds.take_noted() {
            Some(requests) => Outcome::InputRequired { requests, state: None },
            None => wording::of(outcome, self.scope.revision, self.takes_input),
        };
        match outcome {
            Outcome::InputRequired { requests, state } => self.require(call, input, sink, requests, state),
            outcome => {
                if outcome.is_null()
                    && let Some(other) = call.target.otherwise(&self.snapshot)
                {
                    self.run(other, input, sink);
                    return true;
                }
                let rendered = call.target.render(self.server(), &self.scope, outcome);
                self.deliver(sink, rendered)
            }
        }
    }

    /// Reports progress, if the client asked for it and the value rises (PRG-02).
    pub(super) fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        match (self.task(), &self.scope.progress_token) {
            (Some(task), Some(token)) => {
                // PRG-07: the token of the request stays in use until its task is over.
                if Task::is_core(self.scope.revision) && task.advance(progress) {
                    let mut params = json!({"progressToken": token, "progress": progress});
                    if let Some(total) = total.filter(|total| total.is_finite()) {
                        params["total"] = total.into();
                    }
                    if let Some(message) = message {
                        params["message"] = message.into();
                    }
                    self.notify(method::PROGRESS, params);
                }
            }
            (None, _) => {
                if let Some(message) = self.connection.progress_of(self, progress, total, message) {
                    self.reply.send(Outgoing::Notification(message));
                }
            }
            (Some(_), None) => {}
        }
    }

    /// Sends a notification that belongs to this request: on its stream, or as news of the task that it has become.
    pub(super) fn notify(&self, method: &str, mut params: Value) {
        let reply = match self.task() {
            None => &self.reply,
            Some(task) if Task::is_core(self.scope.revision) => {
                task.relate(&mut params);
                self.connection.unrelated()
            }
            // TKX-22: the extension has no place for it.
            Some(_) => return,
        };
        let params = serde_json::to_vec(&params).unwrap_or_default();
        let outgoing = Outgoing::Notification(envelope::encode_notification(method, Some(&params)));
        self.connection.log_sent(&outgoing, (&self.scope).into(), method);
        reply.send(outgoing);
    }

    /// Whether what a part of the chain came to can still be of use: middleware around a task answers the request with it, though
    /// the task may be over by then.
    fn has_taker(&self) -> bool {
        self.is_wanted() || self.connection.conversation().is_open(self.key)
    }

    /// Whether anyone still waits for what comes of this.
    pub(super) fn is_wanted(&self) -> bool {
        match self.task() {
            Some(task) => !task.is_final(),
            None => self.connection.conversation().is_open(self.key),
        }
    }

    /// Gives the result to who waits for it. `false`: it is not wanted any more.
    pub(super) fn deliver(self: &Arc<Self>, sink: Sink, result: Result<RawJson, RpcError>) -> bool {
        match sink {
            Sink::Client => self.connection.answer(self.key, &self.reply, result, &self.scope, self.method),
            Sink::Inside(take) => {
                take(result);
                true
            }
        }
    }

    pub(super) fn server(&self) -> &Server {
        self.connection.server()
    }
}

/// One middleware in the chain of one request.
pub(super) struct Link {
    pub(super) position: usize,
    middleware: Arc<RegisteredMiddleware>,
    method: &'static str,
    cacheable: bool,
    /// What the middleware before it passed on.
    pub(super) params: Option<RawJson>,
}

impl Target for Link {
    fn name(&self) -> &str {
        self.method
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.middleware.handler
    }

    /// A result may be the middleware's own, so it is made to fit the revision; what the middleware says itself becomes what a tool says.
    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        match outcome {
            Outcome::Result(result) => {
                let unread = |error: serde_json::Error| {
                    outcome::error_of(server, "a middleware", Outcome::Internal(error.to_string()))
                };
                let mut result = result.parse().map_err(unread)?;
                project::project_result(self.method, &mut result, scope.revision);
                if self.cacheable && scope.revision.supports(Feature::CacheHints) {
                    complete_hints(&mut result, &server.options().cache);
                }
                Ok(server.seal_object(result, scope.revision))
            }
            Outcome::ToolError(message) if self.method == method::TOOLS_CALL => {
                Ok(outcome::tool_error(server, scope.revision, &message))
            }
            other => Err(outcome::error_of(server, "a middleware", other)),
        }
    }

    fn link(&self) -> Option<&Link> {
        Some(self)
    }
}

/// CCH-01, CCH-14: complete results of these methods say how long they may be kept, whoever made them.
fn complete_hints(result: &mut Value, hints: &CacheHints) {
    let Some(members) = result.as_object_mut() else { return };
    if members.get("resultType").is_none_or(|kind| kind == "complete") {
        members.entry("ttlMs").or_insert_with(|| hints.ttl_ms().into());
        members.entry("cacheScope").or_insert_with(|| hints.scope.as_str().into());
    }
}

//! One call of a handler: its input, its answer, and the means to use while it runs.

use super::{
    arrival::Arrival,
    cancellation::Cancelled,
    client_request::{ClientRequestError, PendingClientRequest, ResponseCallback},
    input::InputKind,
    outcome::Outcome,
    vars::Vars,
};
use crate::{
    cause::Cause,
    engine::{RequestInfo, RequestTimeout},
    protocol::{RawJson, RequestId, RpcError, TraceContext, model::LoggingLevel},
    runtime::Runtime,
    server::options::ServerOptions,
    telemetry::{OperationStart, RunningOperation},
};
use serde_json::Value;
use std::{any::Any, collections::BTreeMap, sync::Arc, time::Duration};

/// A call to answer. Dropping it unanswered fails the call.
#[must_use = "dropping it unanswered fails the call"]
pub struct Call {
    info: CallInfo,
    input: RawJson,
}

/// A call while it runs: its description, and functions for its handler. Cheap to clone.
#[derive(Clone)]
pub struct CallInfo {
    backend: Arc<dyn CallBackend>,
}

/// Takes the result of the rest of a request, once.
pub(in crate::server) type ResultCallback = Box<dyn FnOnce(Result<RawJson, RpcError>) + Send>;

/// The request behind a call. Handlers and the registry know it by this trait only.
pub(in crate::server) trait CallBackend: Send + Sync + 'static {
    /// The sender of the request, and its revision.
    fn info(&self) -> &RequestInfo;
    /// The JSON-RPC id of the request.
    fn request_id(&self) -> &RequestId;
    /// See [`CallInfo::session_id`].
    fn session_id(&self) -> Option<&str>;
    /// The way by which the request came.
    fn arrival(&self) -> Option<&Arrival>;
    /// See [`CallInfo::cause`].
    fn cause(&self) -> Option<&Arc<dyn Cause>>;
    /// See [`CallInfo::operation`].
    fn operation(&self) -> Option<&RunningOperation>;
    /// See [`CallInfo::client_request`].
    fn client_request(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart>;
    /// See [`CallInfo::vars`].
    fn vars(&self) -> &Vars;
    /// See [`CallInfo::lifespan`].
    fn lifespan(&self) -> Option<Arc<dyn Any + Send + Sync>>;
    /// The method of the request.
    fn method(&self) -> &'static str;
    /// The name, URI or method that the handler serves.
    fn name(&self) -> &str;
    /// The number of the conversation, where it lasts longer than the request.
    fn conversation(&self) -> Option<u64>;
    /// The least severe log messages that the client wants.
    fn log_level(&self) -> Option<LoggingLevel>;
    /// The options of the server.
    fn options(&self) -> &ServerOptions;
    /// The runtime of the request's connection.
    fn runtime(&self) -> &Arc<dyn Runtime>;
    /// Takes the outcome of the handler; only the first counts. `false`: nothing was sent.
    fn complete(self: Arc<Self>, input: &RawJson, outcome: Outcome) -> bool;
    /// See [`CallInfo::progress`].
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);
    /// See [`CallInfo::log`].
    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value);
    /// See [`CallInfo::ask`].
    fn ask(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&RawJson>,
        timeout: RequestTimeout,
        on_response: ResponseCallback,
    ) -> Result<PendingClientRequest, ClientRequestError>;
    /// See [`CallInfo::cancel_client_request`].
    fn cancel_client_request(&self, request: &PendingClientRequest, reason: &str);
    /// See [`CallInfo::proceed_as`].
    fn proceed(
        &self,
        cause: Option<Arc<dyn Cause>>,
        params: Option<RawJson>,
        done: ResultCallback,
    ) -> Result<(), RpcError>;
    /// See [`CallInfo::input_responses`].
    fn input_responses(&self) -> BTreeMap<String, Value>;
    /// See [`CallInfo::input_problems`].
    fn input_problems(&self) -> BTreeMap<String, String>;
    /// See [`CallInfo::state`].
    fn user_state(&self) -> Option<Value>;
    /// See [`CallInfo::kept`].
    fn kept(&self, name: &str) -> Option<Value>;
    /// See [`CallInfo::all_kept`].
    fn all_kept(&self) -> BTreeMap<String, Value>;
    /// See [`CallInfo::keep`].
    fn keep(&self, name: &str, value: Value);
    /// See [`CallInfo::close_stream`].
    fn close_stream(&self);
    /// See [`CallInfo::start_task`].
    fn start_task(&self);
    /// See [`CallInfo::is_task`].
    fn is_task(&self) -> bool;
    /// See [`CallInfo::set_task_message`].
    fn set_task_message(&self, message: &str);
    /// See [`CallInfo::is_cancelled`].
    fn is_cancelled(&self) -> bool;
    /// See [`CallInfo::on_cancel`].
    fn on_cancel(&self, hook: Box<dyn FnOnce(&str) + Send>);
    /// Completes when the call is cancelled.
    fn cancelled(&self) -> Cancelled;
}

impl Call {
    pub(in crate::server) fn new(backend: Arc<dyn CallBackend>, input: RawJson) -> Self {
        Self { info: CallInfo::new(backend), input }
    }

    /// The input that the handler's registration describes: the arguments of a tool or prompt, say.
    /// Valid already.
    pub fn input(&self) -> &RawJson {
        &self.input
    }

    /// Information and means of this call, to keep while it runs.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    /// Answers the call. `false`: it was cancelled or its connection is gone, and nothing was sent.
    pub fn complete(mut self, outcome: Outcome) -> bool {
        self.finish(outcome)
    }

    fn finish(&mut self, outcome: Outcome) -> bool {
        Arc::clone(&self.info.backend).complete(&self.input, outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.finish(Outcome::Internal("the handler dropped the call without an answer".into()));
    }
}

impl CallInfo {
    pub(in crate::server) fn new(backend: Arc<dyn CallBackend>) -> Self {
        Self { backend }
    }

    /// Where the call comes from.
    pub fn request_info(&self) -> &RequestInfo {
        self.backend.info()
    }

    /// The JSON-RPC id of the request, unique among those of its session that are in flight.
    pub fn request_id(&self) -> &RequestId {
        self.backend.request_id()
    }

    /// The id of the session, over HTTP up to 2025-11-25; elsewhere there is none.
    pub fn session_id(&self) -> Option<&str> {
        self.backend.session_id()
    }

    /// The HTTP request that brought the call; `None` on pipes and in memory.
    #[cfg(feature = "http-server")]
    pub fn http(&self) -> Option<&super::HttpRequest> {
        self.backend.arrival()?.http.as_ref()
    }

    /// The values that middleware, extractors and the handler of this request share.
    pub fn vars(&self) -> &Vars {
        self.backend.vars()
    }

    /// The value that the lifespan of the server has opened.
    pub(in crate::server) fn lifespan(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.backend.lifespan()
    }

    /// The caller in the host of a binding: the exchange or the request that brought the call, or
    /// the middleware around it.
    #[doc(hidden)]
    pub fn cause(&self) -> Option<&Arc<dyn Cause>> {
        self.backend.cause()
    }

    /// The telemetry of the request, if it is observed.
    #[doc(hidden)]
    pub fn operation(&self) -> Option<&RunningOperation> {
        self.backend.operation()
    }

    /// The begin of the operation of a request to the client. `None`: it is not observed, or not
    /// sent by itself but with the result of the call (2026-07-28).
    #[doc(hidden)]
    pub fn client_request(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart> {
        self.backend.client_request(method, params)
    }

    /// The trace context that the request came with: in its `_meta`, or else in the headers of the
    /// HTTP request that brought it.
    pub fn trace_context(&self) -> TraceContext {
        let context = self.request_info().meta.as_ref().map(TraceContext::of_meta).unwrap_or_default();
        match self.backend.arrival() {
            Some(arrival) if context.traceparent.is_none() => arrival.trace_context(),
            _ => context,
        }
    }

    /// The method of the request.
    pub fn method(&self) -> &'static str {
        self.backend.method()
    }

    /// The name of the tool or prompt, the URI of the resource, or the method for anything else.
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// Reports progress, if the client asked for it. Values that do not rise are dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.backend.progress(progress, total, message);
    }

    /// Sends a log message to the client of this call, if it wants messages of that level.
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        self.backend.log(level, logger, data);
    }

    /// Sends a request to the client of this call; `on_response` takes the outcome, exactly once
    /// unless this fails. The client has `timeout` to answer, and never more than `max`.
    ///
    /// Elicitation, sampling and roots work in both eras. In the legacy era the client gets a
    /// request. On 2026-07-28 the answer comes at once if the client has given it; otherwise this
    /// fails with [`ClientRequestError::Suspended`], the call ends, and the handler runs again from
    /// the top when the client comes back with the answer: `key` says which answer belongs to which
    /// request (`None`: counted by kind; used again in one run, it is made another). Other methods
    /// exist in the legacy era only.
    ///
    /// # Errors
    /// As [`ClientRequestError`] says.
    pub fn ask(
        &self,
        method: &str,
        key: Option<&str>,
        params: Option<&RawJson>,
        timeout: Duration,
        max: Duration,
        on_response: impl FnOnce(Result<RawJson, ClientRequestError>) + Send + 'static,
    ) -> Result<PendingClientRequest, ClientRequestError> {
        self.backend.ask(method, key, params, RequestTimeout { timeout, max }, Box::new(on_response))
    }

    /// Time of the client to answer a request of that method: where a person decides, as
    /// long as people take.
    pub fn timeout_for(&self, method: &str) -> Duration {
        let options = self.backend.options();
        if InputKind::of(method).is_some() { options.input_timeout } else { options.limits.request_timeout }
    }

    /// Cancels a request of [`Self::ask`] and notifies the client; its outcome is
    /// [`ClientRequestError::Cancelled`].
    pub fn cancel_client_request(&self, request: &PendingClientRequest, reason: &str) {
        self.backend.cancel_client_request(request, reason);
    }

    /// For middleware: runs the rest of the chain, with these parameters or with those that came to
    /// it; `done` takes the result. If the parameters have a `_meta`, it takes the place of the one
    /// that came.
    ///
    /// # Errors
    /// If the call is not one of middleware.
    pub fn proceed(
        &self,
        params: Option<RawJson>,
        done: impl FnOnce(Result<RawJson, RpcError>) + Send + 'static,
    ) -> Result<(), RpcError> {
        self.proceed_as(self.cause().cloned(), params, done)
    }

    /// The same for middleware of the host of a binding.
    #[doc(hidden)]
    pub fn proceed_as(
        &self,
        cause: Option<Arc<dyn Cause>>,
        params: Option<RawJson>,
        done: impl FnOnce(Result<RawJson, RpcError>) + Send + 'static,
    ) -> Result<(), RpcError> {
        self.backend.proceed(cause, params, Box::new(done))
    }

    /// The answers that came with this round of the request, for handlers that return
    /// [`Outcome::InputRequired`]: those that match their requests.
    pub fn input_responses(&self) -> BTreeMap<String, Value> {
        self.backend.input_responses()
    }

    /// The problems of this round's answers that do not match their requests: the handler
    /// may ask again.
    pub fn input_problems(&self) -> BTreeMap<String, String> {
        self.backend.input_problems()
    }

    /// The verified state that the handler gave with [`Outcome::InputRequired`] in the round
    /// before.
    pub fn state(&self) -> Option<Value> {
        self.backend.user_state()
    }

    /// The value that an earlier run of this handler kept under a name.
    pub fn kept(&self, name: &str) -> Option<Value> {
        self.backend.kept(name)
    }

    /// Everything that earlier runs kept.
    pub fn all_kept(&self) -> BTreeMap<String, Value> {
        self.backend.all_kept()
    }

    /// Keeps a value for later runs of this handler, so that what has an effect happens once.
    pub fn keep(&self, name: &str, value: Value) {
        self.backend.keep(name, value);
    }

    /// Closes the HTTP connection that waits for this call, where the client can come back for the
    /// answer: in sessions of 2025-11-25. The client is told when to ask again. Elsewhere
    /// nothing happens.
    pub fn close_stream(&self) {
        self.backend.close_stream();
    }

    /// Makes a task of the call, if its tool defers tasks
    /// ([`crate::server::ToolDefinition::defer_task`]) and the client can have one: the client gets
    /// the task now, and its result later. Otherwise nothing happens.
    pub fn start_task(&self) {
        self.backend.start_task();
    }

    /// Returns whether the call is a task.
    pub(crate) fn is_task(&self) -> bool {
        self.backend.is_task()
    }

    /// Sets the status message of the call's task. On a call that is not a task, nothing happens.
    pub fn set_task_message(&self, message: &str) {
        self.backend.set_task_message(message);
    }

    /// Returns whether the call is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.backend.is_cancelled()
    }

    /// Runs `hook` with the reason when the call is cancelled; at once if it is.
    pub fn on_cancel(&self, hook: impl FnOnce(&str) + Send + 'static) {
        self.backend.on_cancel(Box::new(hook));
    }

    /// The number of the session or pipe that the call came by; `None` where each request stands
    /// alone.
    pub(crate) fn conversation(&self) -> Option<u64> {
        self.backend.conversation()
    }

    /// The least severe log messages that the client wants; `None`: none.
    pub(crate) fn log_level(&self) -> Option<LoggingLevel> {
        self.backend.log_level()
    }

    /// The items of one page of a list.
    pub(in crate::server) fn page_size(&self) -> usize {
        self.backend.options().page_size.max(1)
    }

    pub(crate) fn cancelled(&self) -> Cancelled {
        self.backend.cancelled()
    }

    /// The runtime that async handlers run on.
    pub(in crate::server) fn runtime(&self) -> &Arc<dyn Runtime> {
        self.backend.runtime()
    }
}

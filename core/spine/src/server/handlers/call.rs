//! A call of a handler: its input, its outcome, and what the handler can use while it runs.

use super::{
    arrival::Arrival,
    cancellation::Cancellation,
    client_request::{CancelSent, ClientRequest, ClientRequestError, PendingClientRequest, ResponseCallback},
    input::InputKind,
    outcome::Outcome,
    vars::Vars,
};
use crate::{
    cause::Cause,
    engine::RequestInfo,
    protocol::{RawJson, RequestId, RpcError, TraceContext, model::LoggingLevel},
    runtime::Runtime,
    server::server_options::ServerOptions,
    telemetry::{OperationStart, RunningOperation},
};
use serde_json::Value;
use std::{any::Any, collections::BTreeMap, fmt, future::Future, sync::Arc, time::Duration};

/// A call to complete. Dropping it without completing it fails the call.
#[must_use = "dropping it unanswered fails the call"]
pub struct Call {
    info: CallInfo,
    input: RawJson,
    is_completed: bool,
}

/// A running call: information about it, and functions for its handler. Cheap to clone.
#[derive(Clone)]
pub struct CallInfo {
    pub(in crate::server) backend: Arc<dyn CallBackend>,
}

/// Called once with the result of the rest of a request.
pub(crate) type ResultCallback = Box<dyn FnOnce(Result<RawJson, RpcError>) + Send>;

/// The request behind a call. Handlers, the registry and proxies only know this trait.
pub(crate) trait CallBackend: Send + Sync + 'static {
    /// The sender of the request, and its revision.
    fn info(&self) -> &RequestInfo;
    /// The JSON-RPC id of the request.
    fn request_id(&self) -> &RequestId;
    /// How the request arrived.
    fn arrival(&self) -> Option<&Arrival>;
    /// See [`CallInfo::cause`].
    fn cause(&self) -> Option<&Arc<dyn Cause>>;
    /// See [`CallInfo::operation`].
    fn operation(&self) -> Option<&RunningOperation>;
    /// See [`CallInfo::client_request`].
    fn client_request(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart>;
    /// See [`CallInfo::vars`].
    fn vars(&self) -> &Vars;
    /// The value opened by the lifespan of the server.
    fn lifespan(&self) -> Option<Arc<dyn Any + Send + Sync>>;
    /// The method of the request.
    fn method(&self) -> &'static str;
    /// The name, URI or method that the handler serves.
    fn name(&self) -> &str;
    /// The number of the session or pipe of the call; `None` if each request stands alone.
    fn conversation(&self) -> Option<u64>;
    /// The client that the call is charged to, if there is a per-client limit: its principal, or
    /// its address behind trusted proxies.
    fn client(&self) -> Option<Arc<str>>;
    /// The client's log level; `None` if it wants no log messages.
    fn log_level(&self) -> Option<LoggingLevel>;
    /// See [`CallInfo::may_see_details`].
    fn may_see_details(&self) -> bool;
    /// The options of the server.
    fn options(&self) -> &ServerOptions;
    /// The runtime of the request's connection, which async handlers run on.
    fn runtime(&self) -> &Arc<dyn Runtime>;
    /// Completes the call; only the first outcome counts. Returns `false` if nothing was sent.
    fn complete(self: Arc<Self>, input: &RawJson, outcome: Outcome) -> bool;
    /// See [`CallInfo::progress`].
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);
    /// See [`CallInfo::log`].
    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value);
    /// See [`CallInfo::ask`]. Returns `None` if the response has arrived.
    fn ask(
        &self,
        request: ClientRequest<'_>,
        on_response: ResponseCallback,
    ) -> Result<Option<CancelSent>, ClientRequestError>;
    /// See [`CallInfo::proceed_as`].
    fn proceed(
        &self,
        cause: Option<Arc<dyn Cause>>,
        params: Option<RawJson>,
        done: ResultCallback,
    ) -> Result<(), RpcError>;
    /// The rounds of the request.
    fn rounds(&self) -> &dyn HandlerRounds;
    /// See [`CallInfo::close_stream`].
    fn close_stream(&self);
    /// See [`CallInfo::start_task_for`].
    fn start_task(&self, times: TaskTimes);
    /// See [`CallInfo::may_become_task`].
    fn may_become_task(&self) -> bool;
    /// Returns whether the call is a task.
    fn is_task(&self) -> bool;
    /// See [`CallInfo::set_task_message`].
    fn set_task_message(&self, message: &str);
    /// Set when the call is cancelled.
    fn cancellation(&self) -> &Cancellation;
}

/// The times of a task; by default, those of the server's options.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskTimes {
    /// How long it is kept, up to the server's maximum.
    pub ttl: Option<Duration>,
    /// How often clients should poll it.
    pub poll_interval: Option<Duration>,
}

/// The rounds of a request, as its handlers see them.
pub(crate) trait HandlerRounds {
    /// See [`CallInfo::input_responses`].
    fn responses(&self) -> BTreeMap<String, Value>;
    /// See [`CallInfo::unasked_responses`].
    fn unasked(&self) -> BTreeMap<String, Value>;
    /// See [`CallInfo::input_problems`].
    fn problems(&self) -> BTreeMap<String, String>;
    /// See [`CallInfo::state`].
    fn user_state(&self) -> Option<Value>;
    /// See [`CallInfo::memoized`].
    fn memoized(&self, name: &str) -> Option<Value>;
    /// See [`CallInfo::all_memoized`].
    fn all_memoized(&self) -> BTreeMap<String, Value>;
    /// See [`CallInfo::memoize`].
    fn memoize(&self, name: &str, value: Value);
}

impl Call {
    pub(in crate::server) fn new(backend: Arc<dyn CallBackend>, input: RawJson) -> Self {
        Self { info: CallInfo { backend }, input, is_completed: false }
    }

    /// The input as described by the registration, such as the arguments of a tool or prompt.
    /// Already validated.
    pub fn input(&self) -> &RawJson {
        &self.input
    }

    /// Information about the call, which can be kept while it runs.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    /// Completes the call. Returns `false` if nothing was sent because it was cancelled or its
    /// connection is closed.
    pub fn complete(mut self, outcome: Outcome) -> bool {
        self.finish(outcome)
    }

    fn finish(&mut self, outcome: Outcome) -> bool {
        self.is_completed = true;
        Arc::clone(&self.info.backend).complete(&self.input, outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_completed {
            self.finish(Outcome::Internal("the handler dropped the call without a response".into()));
        }
    }
}

impl CallInfo {
    /// The number of the session or pipe of the call; `None` if each request stands alone.
    #[doc(hidden)]
    pub fn conversation(&self) -> Option<u64> {
        self.backend.conversation()
    }

    /// The client that the call is charged to, if there is a per-client limit.
    #[doc(hidden)]
    pub fn charged_client(&self) -> Option<Arc<str>> {
        self.backend.client()
    }

    /// The client's log level; `None` if it wants no log messages.
    #[doc(hidden)]
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.backend.log_level()
    }

    /// Returns whether the caller may see the details of failures, such as the output of a process:
    /// it is on this machine, or the server's option `debug` is set.
    #[doc(hidden)]
    pub fn may_see_details(&self) -> bool {
        self.backend.may_see_details()
    }

    /// Returns whether [`CallInfo::start_task`] turns the call into a task.
    #[doc(hidden)]
    pub fn may_become_task(&self) -> bool {
        self.backend.may_become_task()
    }

    /// Returns whether the call is a task.
    #[doc(hidden)]
    pub fn is_task(&self) -> bool {
        self.backend.is_task()
    }

    /// The revision, client and origin of the request.
    pub fn request_info(&self) -> &RequestInfo {
        self.backend.info()
    }

    /// The JSON-RPC id of the request, unique among the requests in flight in its session.
    pub fn request_id(&self) -> &RequestId {
        self.backend.request_id()
    }

    /// The id of the session; only over HTTP up to 2025-11-25.
    pub fn session_id(&self) -> Option<&str> {
        self.backend.arrival()?.session_id()
    }

    /// The HTTP request that brought the call; `None` on pipes and in memory.
    #[cfg(feature = "http-server")]
    pub fn http(&self) -> Option<&super::HttpRequest> {
        self.backend.arrival()?.http.as_ref()
    }

    /// Values shared by the middleware, extractors and handler of this request.
    pub fn vars(&self) -> &Vars {
        self.backend.vars()
    }

    /// The cause of the call, in a binding: the exchange or request that led to it, or the
    /// middleware around it.
    #[doc(hidden)]
    pub fn cause(&self) -> Option<&Arc<dyn Cause>> {
        self.backend.cause()
    }

    /// The telemetry of the request, if it is observed.
    #[doc(hidden)]
    pub fn operation(&self) -> Option<&RunningOperation> {
        self.backend.operation()
    }

    /// The start of a client request, for telemetry. `None` if it is not observed, or is sent with
    /// the result of the call (2026-07-28).
    #[doc(hidden)]
    pub fn client_request(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart> {
        self.backend.client_request(method, params)
    }

    /// The trace context of the request: from its `_meta`, or else from the headers of its HTTP
    /// request.
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

    /// Reports progress, if the client asked for it. Values that don't increase are dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.backend.progress(progress, total, message);
    }

    /// Sends a log message to the client of this call, if its log level includes it.
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        self.backend.log(level, logger, data);
    }

    /// Sends a request to the client of this call. `on_response` is called exactly once, unless
    /// this fails.
    ///
    /// Elicitation, sampling and roots work in both eras. In the legacy era the client gets a
    /// request. On 2026-07-28 the answer is available immediately if the client has already sent
    /// it; otherwise this fails with [`ClientRequestError::Suspended`], the call ends, and the
    /// handler runs again from the top when the client returns with the answer. `key` matches
    /// answers to requests; with `None`, an answer belongs to an equal request. A key that is
    /// reused within a run is made unique. Other methods exist only in the legacy era.
    ///
    /// # Errors
    /// See [`ClientRequestError`].
    pub fn ask(
        &self,
        request: ClientRequest<'_>,
        on_response: impl FnOnce(Result<RawJson, ClientRequestError>) + Send + 'static,
    ) -> Result<PendingClientRequest, ClientRequestError> {
        self.backend.ask(request, Box::new(on_response)).map(PendingClientRequest)
    }

    /// The default timeout of a client request: longer if a person decides.
    pub fn timeout_for(&self, method: &str) -> Duration {
        let options = self.backend.options();
        if InputKind::of(method).is_some() { options.input_timeout } else { options.limits.request_timeout }
    }

    /// Cancels a request made with [`Self::ask`] and notifies the client. Its outcome is
    /// [`ClientRequestError::Cancelled`].
    pub fn cancel_client_request(&self, request: &PendingClientRequest, reason: &str) {
        if let Some(cancel) = &request.0 {
            cancel(reason);
        }
    }

    /// For middleware: runs the rest of the chain with these parameters, or with the original ones,
    /// and passes the result to `done`. A `_meta` in the parameters replaces the original one.
    ///
    /// # Errors
    /// If this is not a call of middleware.
    pub fn proceed(
        &self,
        params: Option<RawJson>,
        done: impl FnOnce(Result<RawJson, RpcError>) + Send + 'static,
    ) -> Result<(), RpcError> {
        self.proceed_as(self.cause().cloned(), params, done)
    }

    /// The same for middleware in a binding.
    #[doc(hidden)]
    pub fn proceed_as(
        &self,
        cause: Option<Arc<dyn Cause>>,
        params: Option<RawJson>,
        done: impl FnOnce(Result<RawJson, RpcError>) + Send + 'static,
    ) -> Result<(), RpcError> {
        self.backend.proceed(cause, params, Box::new(done))
    }

    /// The answers of this round that match their requests, for handlers that return
    /// [`Outcome::InputRequired`].
    pub fn input_responses(&self) -> BTreeMap<String, Value> {
        self.backend.rounds().responses()
    }

    /// Answers that the client gave before it was asked, for proxies: the server behind knows which
    /// of them match.
    #[doc(hidden)]
    pub fn unasked_responses(&self) -> BTreeMap<String, Value> {
        self.backend.rounds().unasked()
    }

    /// Why the other answers of this round don't match their requests. The handler may ask again.
    pub fn input_problems(&self) -> BTreeMap<String, String> {
        self.backend.rounds().problems()
    }

    /// The verified state that the handler returned with [`Outcome::InputRequired`] in the previous
    /// round.
    pub fn state(&self) -> Option<Value> {
        self.backend.rounds().user_state()
    }

    /// The value that an earlier run of this handler stored with [`Self::memoize`].
    pub fn memoized(&self, name: &str) -> Option<Value> {
        self.backend.rounds().memoized(name)
    }

    /// All values that earlier runs stored with [`Self::memoize`].
    pub fn all_memoized(&self) -> BTreeMap<String, Value> {
        self.backend.rounds().all_memoized()
    }

    /// Stores a value for later runs of this handler, so that a side effect happens only once.
    pub fn memoize(&self, name: &str, value: Value) {
        self.backend.rounds().memoize(name, value);
    }

    /// Closes the HTTP connection that waits for this call, and sends the client the time after
    /// which to reconnect. Does nothing unless the client can resume the stream, as in sessions of
    /// 2025-11-25.
    pub fn close_stream(&self) {
        self.backend.close_stream();
    }

    /// Turns the call into a task, if its tool defers tasks
    /// ([`crate::server::ToolDefinition::defer_task`]) and the client supports them: the client
    /// gets the task now and the result later. Otherwise does nothing.
    pub fn start_task(&self) {
        self.start_task_for(TaskTimes::default());
    }

    /// Like [`CallInfo::start_task`], with the times of a task elsewhere that it stands for.
    #[doc(hidden)]
    pub fn start_task_for(&self, times: TaskTimes) {
        self.backend.start_task(times);
    }

    /// Sets the status message of the call's task. Does nothing if the call is not a task.
    pub fn set_task_message(&self, message: &str) {
        self.backend.set_task_message(message);
    }

    /// Returns whether the call is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.backend.cancellation().is_cancelled()
    }

    /// Calls `hook` with the reason when the call is cancelled, or immediately if it already is.
    pub fn on_cancel(&self, hook: impl FnOnce(&str) + Send + 'static) {
        self.backend.cancellation().on_cancel(Box::new(hook));
    }

    #[doc(hidden)]
    pub fn cancelled(&self) -> impl Future<Output = ()> + use<> {
        self.backend.cancellation().cancelled()
    }
}

/// Serves calls. This is the core form: it gets a [`Call`], which it can complete at any time and
/// from any thread; dropping the call without completing it fails it.
/// [`crate::server::AsyncHandler`] turns async functions into handlers.
pub trait Handler: Send + Sync + 'static {
    /// Takes a call. Must not block: over HTTP, large messages take turns, so other messages above
    /// 64 KiB may have to wait until this returns.
    fn call(&self, call: Call);
}

impl fmt::Debug for dyn Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<F: Fn(Call) + Send + Sync + 'static> Handler for F {
    fn call(&self, call: Call) {
        self(call);
    }
}

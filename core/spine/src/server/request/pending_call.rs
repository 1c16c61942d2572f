//! The backend of a call: passes its outcome and its client requests to the request.

use super::{
    active_request::{ActiveRequest, CallScope, Responder},
    mapper::ResultMapper,
    request_keys::RequestKeys,
    requests_to_client::raw,
    time_limit::TimeLimit,
};
use crate::{
    cause::Cause,
    composition::rewriting,
    engine::{RequestInfo, RequestTimeout},
    protocol::{RawJson, RequestId, RevisionFeature, RpcError, method, model::LoggingLevel},
    runtime::Runtime,
    server::{
        handlers::{
            Arrival, CallBackend, CallInfo, CancelSent, Cancellation, ClientRequest, ClientRequestError, HandlerRounds,
            InputKind, InputRequest, InputRequired, Outcome, ResponseCallback, ResultCallback, TaskTimes, ToolError,
            Vars, check,
        },
        lifespan::LifespanValue,
        result::project_errors,
        server_options::ServerOptions,
    },
    sync::Mutex,
    telemetry::{OperationStart, RunningOperation},
    wire_log::Transport,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
};

/// A call whose handler is running.
pub(super) struct PendingCall {
    context: Arc<ActiveRequest>,
    mapper: Arc<dyn ResultMapper>,
    scope: CallScope,
    /// Receives the result; taken by the first one.
    responder: Mutex<Option<Responder>>,
    keys: RequestKeys,
    /// `None` if only the request limits the time.
    limit: Option<TimeLimit>,
}

impl PendingCall {
    pub(super) fn begin(context: Arc<ActiveRequest>, mapper: Arc<dyn ResultMapper>, responder: Responder) -> Arc<Self> {
        let limit = mapper.target().timeout.map(TimeLimit::new);
        let scope = responder.scope(&context);
        let responder = Mutex::new(Some(responder));
        let call = Arc::new(Self { context, mapper, scope, responder, keys: RequestKeys::default(), limit });
        if let Some(limit) = &call.limit {
            let expired = Arc::downgrade(&call);
            let expire = move || expired.upgrade().map(|call| call.expire()).unwrap_or_default();
            limit.start(&call.context.cancellation, call.runtime(), expire);
        }
        call
    }

    /// Called on timeout: fails the call and cancels its handler.
    fn expire(&self) {
        let (Some(limit), Some(responder)) = (&self.limit, self.responder.lock().take()) else { return };
        let text = format!("{} timed out after {:?}", self.name(), limit.timeout);
        let rendered = self.mapper.render(&self.context, Outcome::ToolError(text));
        self.context.deliver(responder, rendered);
        limit.cancellation.cancel("it timed out");
    }

    /// Reports an internal failure, whose details the client does not get, to error hooks, and
    /// converts it to a message.
    fn watch_errors(self: &Arc<Self>, input: &RawJson, outcome: Outcome) -> Outcome {
        let hooks = self.context.snapshot.hooks.on_error();
        let observers = self.context.connection.observers();
        let error = match outcome {
            Outcome::Failed(error) => error,
            Outcome::Internal(detail) if hooks.is_some() || observers.is_some() => {
                Arc::new(ToolError::internal(detail))
            }
            outcome => return outcome,
        };
        if let Some(observers) = observers {
            observers.failed(self.name(), &error);
        }
        if let Some(hooks) = hooks {
            let call = CallInfo { backend: Arc::clone(self) as _ };
            for hook in hooks {
                if catch_unwind(AssertUnwindSafe(|| hook(&error, &call, input))).is_err() {
                    tracing::error!(target: "trunkline::server::request", "an on_error callback panicked");
                }
            }
        }
        Outcome::Internal(error.detail())
    }

    /// The position of the middleware among all that the request passes through, including mounted
    /// servers.
    fn middleware_position(&self) -> Option<usize> {
        self.mapper.link().map(|link| self.context.middleware_around() + link.position)
    }

    /// The request info with the `_meta` of these parameters, if they have one.
    fn with_meta_of(&self, params: &RawJson) -> Option<Arc<RequestInfo>> {
        #[derive(Deserialize)]
        struct WithMeta {
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        let meta = params.parse::<WithMeta>().ok()?.meta?;
        Some(Arc::new(RequestInfo { meta: Some(meta), ..self.info().clone() }))
    }

    /// Requests input as on 2026-07-28: from the answers that already arrived, or by ending the
    /// call.
    fn ask_by_rounds(
        &self,
        key: Option<&str>,
        request: InputRequest,
        checked: &InputRequest,
        on_response: ResponseCallback,
    ) -> Result<Option<CancelSent>, ClientRequestError> {
        let rounds = self.context.rounds();
        let key = match key {
            Some(key) => {
                let key = self.keys.explicit(key)?;
                rounds.chose(&key);
                key
            }
            None => {
                let choose = |prefix: &str, used: &BTreeSet<String>| rounds.key_of(&request, prefix, used);
                self.keys.automatic(checked.kind, self.middleware_position(), choose)?
            }
        };
        match rounds.answer(&key).map(|answer| checked.read(answer)) {
            None | Some(Err(ClientRequestError::Suspended)) => {
                // The call could not continue with the answer.
                if cfg!(not(feature = "request-state")) {
                    let text = "sending requests to a 2026-07-28 client needs the cargo feature `request-state`";
                    return Err(ClientRequestError::Refused(RpcError::invalid_request(text)));
                }
                rounds.forget(&key);
                rounds.note(key, request);
                return Err(ClientRequestError::Suspended);
            }
            Some(answer) => on_response(answer.and_then(|answer| raw(&answer))),
        }
        Ok(None)
    }
}

/// The name of the called tool or prompt, or the URI of the read resource.
fn called_name(method: &str, params: Option<&RawJson>) -> Option<String> {
    if !matches!(method, method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ) {
        return None;
    }
    rewriting::text(&params?.parse().ok()?, method::Method::name_parameter(method)?)
}

impl CallBackend for PendingCall {
    fn info(&self) -> &RequestInfo {
        self.scope.info.as_deref().unwrap_or(&self.context.info)
    }

    fn request_id(&self) -> &RequestId {
        &self.context.id
    }

    fn arrival(&self) -> Option<&Arrival> {
        self.context.reply.arrival()
    }

    fn cause(&self) -> Option<&Arc<dyn Cause>> {
        self.scope.cause.as_ref()
    }

    fn operation(&self) -> Option<&RunningOperation> {
        self.context.observer.operation()
    }

    fn client_request(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart> {
        let by_rounds = self.context.info.revision.supports(RevisionFeature::InputRequired)
            || self.context.connection.reruns_handlers();
        let is_round = by_rounds && InputKind::of(method).is_some();
        let is_observed = self.context.observer.operation().is_some() && !is_round;
        is_observed.then(|| self.context.client_request_start(method, params))
    }

    fn vars(&self) -> &Vars {
        self.context.vars()
    }

    fn lifespan(&self) -> Option<LifespanValue> {
        self.context.snapshot.hooks.lifespan.value()
    }

    fn method(&self) -> &'static str {
        self.context.method
    }

    fn name(&self) -> &str {
        let method = self.context.method;
        let name = match self.mapper.link() {
            Some(link) => link.name.get_or_init(|| called_name(method, link.params.as_ref())).as_deref(),
            None => self.mapper.target().name,
        };
        name.unwrap_or(method)
    }

    fn conversation(&self) -> Option<u64> {
        let connection = &self.context.connection;
        let lasts = connection.setup.transport != Transport::Http || connection.has_session();
        lasts.then_some(connection.number)
    }

    fn client(&self) -> Option<Arc<str>> {
        self.context.client()
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        self.context.log_level()
    }

    fn may_see_details(&self) -> bool {
        self.context.connection.may_see_details()
    }

    fn options(&self) -> &ServerOptions {
        self.context.server().options()
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        self.context.connection.runtime()
    }

    fn complete(self: Arc<Self>, input: &RawJson, outcome: Outcome) -> bool {
        let Some(responder) = self.responder.lock().take() else { return false };
        if let Some(limit) = &self.limit {
            limit.end();
        }
        let outcome = self.watch_errors(input, outcome);
        let (request, mapper) = (&self.context, &self.mapper);
        if !request.has_receiver() {
            // An internal receiver, such as middleware, must not wait forever.
            if let Responder::Inside(_, take) = responder {
                take(Err(RpcError::invalid_request("The request was cancelled")));
            }
            return false;
        }
        // Unanswered client requests decide, whatever the handler returned.
        let outcome = match Some(()).filter(|()| mapper.may_ask()).and_then(|()| request.rounds().take_noted()) {
            Some(requests) => Outcome::InputRequired(InputRequired { requests, state: None }),
            None => project_errors(outcome, request.info.revision, request.row.takes_input),
        };
        match outcome {
            Outcome::InputRequired(required) if mapper.may_ask() => {
                return request.require(mapper, input, responder, required);
            }
            _ => {}
        }
        if let Some(step) = mapper.next(request, input, &outcome) {
            request.observer.in_span(|| request.follow(|| step, responder));
            return true;
        }
        if mapper.is_costly(&outcome) {
            let mapper = Arc::clone(mapper);
            request.in_turn(move |request, turn| {
                request.deliver(responder, turn.and_then(|()| mapper.render(request, outcome)));
            });
            return true;
        }
        request.deliver(responder, mapper.render(request, outcome))
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.context.progress(progress, total, message);
    }

    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        self.context.log(level, logger, data);
    }

    fn ask(
        &self,
        ClientRequest { method, key, params, timeout, max }: ClientRequest<'_>,
        on_response: ResponseCallback,
    ) -> Result<Option<CancelSent>, ClientRequestError> {
        let timeout = RequestTimeout { timeout, max };
        let context = &self.context;
        let Some(kind) = InputKind::of(method) else {
            return context.send_request(timeout, method, params, on_response).map(Some);
        };
        if !context.row.takes_input || !self.mapper.may_ask() {
            let text = format!("The client cannot be asked for input during {}", context.method);
            return Err(ClientRequestError::Refused(RpcError::invalid_request(text)));
        }
        let params: Option<Value> = params.map(RawJson::read).transpose().map_err(|problem| {
            let text = format!("The params of {method} cannot be read: {problem}");
            ClientRequestError::Refused(RpcError::invalid_params(text))
        })?;
        let request =
            InputRequest::new(method, params.unwrap_or_else(|| json!({}))).map_err(ClientRequestError::Refused)?;
        let by_rounds = context.info.revision.supports(RevisionFeature::InputRequired);
        let task = context.task();
        if !by_rounds && task.is_none() && !context.reply.can_ask() {
            return Err(ClientRequestError::NotReachable);
        }
        let checked = check(request.clone(), &context.info).map_err(ClientRequestError::Refused)?;
        let on_value = |on_response: ResponseCallback| {
            Box::new(move |answer: Result<Value, ClientRequestError>| {
                on_response(answer.and_then(|answer| raw(&answer)));
            })
        };
        if let Some(task) = task {
            if self.mapper.link().is_some() {
                let text = "The request has become a task: its handler can still send requests to the client, but middleware cannot";
                return Err(ClientRequestError::Refused(RpcError::invalid_request(text)));
            }
            let key = self.keys.of_task(key, kind);
            return task.ask(&key, checked, timeout, on_value(on_response)).map(Some);
        }
        if by_rounds || context.connection.reruns_handlers() {
            return self.ask_by_rounds(key, request, &checked, on_response);
        }
        context.send_input_request(timeout, &checked, on_value(on_response)).map(Some)
    }

    fn proceed(
        &self,
        cause: Option<Arc<dyn Cause>>,
        params: Option<RawJson>,
        done: ResultCallback,
    ) -> Result<(), RpcError> {
        let Some(link) = self.mapper.link() else {
            return Err(RpcError::invalid_request("Only middleware can run the rest of a request"));
        };
        let info = params.as_ref().and_then(|params| self.with_meta_of(params)).or_else(|| self.scope.info.clone());
        let params = params.or_else(|| link.params.clone());
        self.context.step(link.position + 1, params, Responder::Inside(CallScope { cause, info }, done));
        Ok(())
    }

    fn rounds(&self) -> &dyn HandlerRounds {
        self.context.rounds()
    }

    fn close_stream(&self) {
        self.context.reply.close_stream();
    }

    fn start_task(&self, times: TaskTimes) {
        if !self.context.may_become_task.swap(false, Ordering::Relaxed) {
            return;
        }
        let start = |responder| self.context.start_task(times, false, responder);
        let started = self.responder.lock().as_mut().map(start);
        // Delivered without the lock, because the receiver may be a handler.
        if let Some(Ok((waiting, created))) = started {
            self.context.hand_out(waiting, created, |_| {});
        }
    }

    fn may_become_task(&self) -> bool {
        self.context.may_become_task.load(Ordering::Relaxed)
    }

    fn is_task(&self) -> bool {
        self.context.task().is_some()
    }

    fn set_task_message(&self, message: &str) {
        if let Some(task) = self.context.task() {
            task.set_message(message);
        }
    }

    fn cancellation(&self) -> &Cancellation {
        self.limit.as_ref().map_or(&self.context.cancellation, |limit| &limit.cancellation)
    }
}

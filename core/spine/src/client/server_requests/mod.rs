//! Requests from the server to the host: dispatches them to its handlers, and validates their
//! results.

mod host_task_requests;
pub(super) mod observation;

use crate::{
    client::{PassingHandler, ServerRequest, inner::ClientInner},
    engine::{IncomingRequest, later},
    protocol::{
        RawJson, RequestId, Revision, RpcError,
        input::complete_answer,
        method,
        model::{Implementation, ListRootsResult},
    },
    race::{guarded, unless, until},
    runtime::BoxedTask,
    telemetry::{OperationEnd, RunningOperation},
};
use serde_json::Value;
use std::sync::Arc;

/// Why a server's request has no result.
#[derive(Debug, Clone)]
pub(in crate::client) enum Unanswered {
    /// The handler failed, or there is none.
    Failed(RpcError),
    /// The handler's result is invalid; the reason.
    Invalid(String),
    /// The handler timed out.
    TimedOut,
}

impl ClientInner {
    /// Handles a request from a server of the legacy era.
    pub(in crate::client) fn request_received(self: &Arc<Self>, request: IncomingRequest) {
        match (request.method, request.task) {
            (method::TASKS_GET | method::TASKS_RESULT | method::TASKS_CANCEL | method::TASKS_LIST, _) => {
                self.host_task_request(&request);
            }
            // MRTR-21
            _ if self.options.related_requests_only && self.conversation.lock().outgoing.in_flight() == 0 => {
                let text = format!("{} does not belong to a request of this client", request.method);
                self.answer(&request.id, Err(RpcError::invalid_params(text)));
            }
            (_, Some(task)) => self.begin_host_task(request, task),
            (_, None) => self.ask_host(request),
        }
    }

    fn ask_host(self: &Arc<Self>, request: IncomingRequest) {
        let operation = self.observed_request(&request).map(Arc::new);
        let IncomingRequest { id, method, params, .. } = request;
        let stop = self.host.begin(Some(id.clone()));
        let paused = self.pause_requests();
        let (client, answer) = (Arc::downgrade(self), self.host_answer(method, params, operation.clone()));
        self.runtime.spawn(Box::pin(async move {
            let outcome = unless(stop.kept(), answer).await;
            let Some(client) = client.upgrade() else { return };
            let is_current = client.host.done(&stop);
            client.resume_requests(&paused);
            if let Some(outcome) = outcome.filter(|_| is_current) {
                let outcome = outcome.map_err(Unanswered::into_rpc);
                if let Some(operation) = operation {
                    operation.end(OperationEnd::answered(method, &outcome));
                }
                client.answer(&id, outcome);
            }
        }));
    }

    /// Pauses the timeouts of pending requests, because the server's message does not name the
    /// request that it belongs to.
    pub(in crate::client) fn pause_requests(&self) -> Vec<RequestId> {
        let paused = self.conversation.lock().outgoing.pause_all(self.runtime.now());
        self.events.awaiting_user(true);
        paused
    }

    /// Resumes the timeouts.
    pub(in crate::client) fn resume_requests(self: &Arc<Self>, paused: &[RequestId]) {
        {
            let mut conversation = self.conversation.lock();
            let now = self.runtime.now();
            for id in paused {
                conversation.outgoing.resume(now, id);
            }
        }
        self.events.awaiting_user(false);
        self.arm_timer_again();
    }

    /// Sends the response to a server's request, unless the server has cancelled it.
    pub(in crate::client) fn answer(&self, id: &RequestId, outcome: Result<RawJson, RpcError>) {
        let message = self.conversation.lock().answer(id, outcome);
        if let Some(message) = message {
            self.send(message);
        }
    }

    /// Runs the host's handler for a request and validates its result, within the handler timeout.
    pub(in crate::client) fn host_answer(
        &self,
        method: &str,
        params: RawJson,
        operation: Option<Arc<RunningOperation>>,
    ) -> BoxedTask<Result<RawJson, Unanswered>> {
        let handlers = self.host.handlers();
        let given: Value = params.parse().unwrap_or_default();
        if let Some(passing) = &handlers.passing {
            return self.passed_answer(method, params, passing);
        }
        if method == method::ROOTS_LIST {
            let roots = self.host.roots.lock().clone().map(|roots| roots.into_iter().collect::<ListRootsResult>());
            let answer = roots.ok_or_else(|| Unanswered::Failed(RpcError::internal()));
            return Box::pin(std::future::ready(answer.map(|roots| RawJson::object(&roots))));
        }
        let Some(handler) = handlers.handler_of(method, &given) else {
            tracing::error!(target: "trunkline::client::handlers", method, "the client declares a capability but has no handler for its request");
            return Box::pin(std::future::ready(Err(Unanswered::Failed(RpcError::internal()))));
        };
        let server = self.description().and_then(|server| server.info.as_ref()?.parse::<Implementation>().ok());
        let server_name = self.events.server_name();
        let request = ServerRequest { params, server, server_name, operation: operation.clone() };
        let answer = async move { handler(request).await };
        match operation {
            None => self.checked_answer(method, given, Box::pin(answer)),
            Some(operation) => {
                self.checked_answer(method, given, Box::pin(async move { operation.around(answer).await }))
            }
        }
    }

    /// Forwards a request and validates the result.
    pub(in crate::client) fn passed_answer(
        &self,
        method: &str,
        params: RawJson,
        passing: &PassingHandler,
    ) -> BoxedTask<Result<RawJson, Unanswered>> {
        let given: Value = params.parse().unwrap_or_default();
        self.checked_answer(method, given, passing(method, params))
    }

    /// Runs a handler with its timeout and validates the result.
    fn checked_answer(
        &self,
        method: &str,
        given: Value,
        answer: BoxedTask<Result<RawJson, RpcError>>,
    ) -> BoxedTask<Result<RawJson, Unanswered>> {
        let revision = self.conversation.lock().revision().unwrap_or(Revision::LATEST);
        let (method, runtime) = (method.to_owned(), Arc::clone(&self.runtime));
        let deadline = later(runtime.now(), self.options.input_timeout);
        Box::pin(async move {
            let answer = guarded(answer);
            let answer = match until(&*runtime, deadline, answer).await {
                Some(Some(answer)) => answer.map_err(Unanswered::Failed)?,
                Some(None) => return Err(Unanswered::Invalid(format!("the handler of {method} panicked"))),
                None => return Err(Unanswered::TimedOut),
            };
            let answer: Value = answer.parse().map_err(|error| Unanswered::Invalid(error.to_string()))?;
            let complete = complete_answer(&method, &given, answer, revision);
            complete
                .map(|answer| RawJson::object(&answer))
                .map_err(|error| Unanswered::Invalid(format!("{method}: {error}")))
        })
    }
}

impl Unanswered {
    /// Converts to the error for a server of the legacy era. Internal errors are logged, not sent.
    pub(in crate::client) fn into_rpc(self) -> RpcError {
        match self {
            Self::Failed(error) => error,
            Self::Invalid(problem) => {
                tracing::error!(target: "trunkline::client::handlers", error = problem, "could not send a handler's response");
                RpcError::internal()
            }
            Self::TimedOut => RpcError::new(RpcError::internal().code, "The host did not answer in time"),
        }
    }
}

//! The telemetry of a client: its requests, those from its server, and its session.

use super::{
    Client, ClientError, RequestOptions,
    inner::ClientInner,
    state::client_call::RequestParts,
    telemetry::{CallOperation, ObservedOpening},
};
use crate::{
    engine::{IncomingRequest, RequestExtras, RevisionChoice},
    protocol::{Era, RawJson, SentTrace, TraceContext, method},
    telemetry::{NetworkFacts, ObservedSession, OpenOperation, OperationKind, OperationStart, RunningOperation},
    wire_log::Transport,
};
use std::sync::Arc;

impl Client {
    /// The start of the operation of a request or notification to the server, or `None` if it is
    /// not observed.
    #[doc(hidden)]
    pub fn operation(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart> {
        self.inner.telemetry.as_ref()?;
        Some(self.inner.operation(self.inner.parts(method, params, &RequestOptions::default())))
    }
}

impl ClientInner {
    pub(in crate::client) fn operation(&self, request: RequestParts<'_>) -> OperationStart {
        OperationStart::sent(request.name(), request.params, self.network_facts(), self.runtime.unix_time())
    }

    /// Starts the operation of a call, whose requests carry its trace context.
    pub(in crate::client) fn begin_operation(
        &self,
        request: RequestParts<'_>,
        extras: &mut RequestExtras,
    ) -> Option<Box<CallOperation>> {
        let operation = self.observed(None, || self.operation(request))?;
        let mut context = operation.context();
        if extras.trace.is_some() {
            // A proxy continues the trace of its caller, but does not forward its baggage.
            context.baggage = None;
        }
        let trace = Arc::new(SentTrace::new(context));
        extras.trace = Some(Arc::clone(&trace));
        Some(Box::new(CallOperation { operation, trace, opened: None }))
    }

    /// Takes over the operation that the program has started, or starts one.
    pub(in crate::client) fn observed(
        &self,
        given: Option<Arc<dyn OpenOperation>>,
        start: impl FnOnce() -> OperationStart,
    ) -> Option<RunningOperation> {
        let telemetry = self.telemetry.as_deref()?;
        match given {
            Some(open) => Some(RunningOperation::of(open, &self.runtime)),
            None => RunningOperation::begin(telemetry, &self.runtime, start()),
        }
    }

    /// Starts the operation of a request from the server.
    pub(in crate::client) fn observed_request(&self, request: &IncomingRequest) -> Option<RunningOperation> {
        self.observed(None, || {
            let (method, params, id) = (request.method, Some(&request.params), &request.id);
            let start = OperationStart::received(method, params, id, self.network(), self.runtime.unix_time());
            start.with_parent(TraceContext::of_params(params))
        })
    }

    /// Starts the operation of an opening. `given` is set if the program has already started a span
    /// for it.
    pub(in crate::client) fn begin_opening(&self, given: Option<Arc<dyn OpenOperation>>) {
        let operation = self.observed(given, || {
            OperationStart::opening(self.first_method(), self.network_facts(), self.runtime.unix_time())
        });
        *self.opening.lock() = operation.map(ObservedOpening::new);
    }

    /// Ends the opening. It is named after the request that opened the connection, or the last one
    /// that failed.
    pub(in crate::client) fn end_opening(&self, outcome: &Result<(), ClientError>) {
        if let Some(opening) = self.opening.lock().take() {
            opening.end(self.first_method(), outcome, self.network_facts());
        }
    }

    /// The method of the first request of an opening.
    fn first_method(&self) -> &'static str {
        let settled = self.conversation.lock().revision().map(RevisionChoice::Pinned);
        match settled.unwrap_or(self.options.revision) {
            RevisionChoice::Legacy => method::INITIALIZE,
            RevisionChoice::Pinned(revision) if revision.era() == Era::Legacy => method::INITIALIZE,
            _ => method::DISCOVER,
        }
    }

    /// Reports the end of the session, if there is one.
    pub(in crate::client) fn session_ended(&self, error: Option<&ClientError>) {
        let (Some(telemetry), Some(server)) = (&self.telemetry, self.server.get()) else { return };
        if server.revision.era() == Era::Legacy {
            let network = self.network_facts();
            let duration = self.runtime.now().saturating_duration_since(*self.began.lock());
            let failure = error.map(|error| error.kind().as_str());
            telemetry.session_ended(ObservedSession::new(OperationKind::Client, network, failure, duration));
        }
    }

    /// The network facts of requests to the server.
    pub(in crate::client) fn network_facts(&self) -> NetworkFacts {
        NetworkFacts { server: self.connector.server_address(), ..self.network() }
    }

    fn network(&self) -> NetworkFacts {
        let link = if self.transport == Transport::Http { self.link() } else { None };
        NetworkFacts {
            transport: Some(self.transport),
            revision: self.server.get().map(|server| server.revision),
            session_id: link.and_then(|link| link.session_id()),
            ..NetworkFacts::default()
        }
    }
}

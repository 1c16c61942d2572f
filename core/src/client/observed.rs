//! The telemetry of a client: its requests, those of its server, and its session.

use super::{client::Client, error::ClientError, inner::ClientInner, reply::ReplyTo};
use crate::{
    engine::{IncomingRequest, RequestExtras},
    protocol::{
        Era, RawJson, RpcError, SentTrace, TraceContext,
        envelope::Notification,
        method::{MessageKind, Method, Sender},
    },
    telemetry::{
        NetworkFacts, ObservedSession, OpenOperation, OperationEnd, OperationKind, OperationStart, RunningOperation,
        Telemetry,
    },
    wire_log::Transport,
};
use std::sync::Arc;

impl Client {
    /// The begin of the operation of a request or a notification to the server; `None`: it is not
    /// observed.
    #[doc(hidden)]
    pub fn operation(&self, method: &str, params: Option<&RawJson>) -> Option<OperationStart> {
        self.inner.telemetry.as_ref().map(|_| self.inner.operation(method, params))
    }
}

impl ClientInner {
    fn operation(&self, method: &str, params: Option<&RawJson>) -> OperationStart {
        let known = self.server.get().and_then(|server| {
            Method::find(method, MessageKind::Request, Sender::Client, server.revision).map(|row| row.name)
        });
        let (way, now) = (self.observed_way(), self.runtime.unix_time());
        match known {
            Some(name) => OperationStart::new(OperationKind::Client, name, params, None, way, now),
            None => OperationStart::new(OperationKind::Client, method.to_owned(), params, None, way, now),
        }
    }

    /// A request with its telemetry: the trace context that it carries, and the receiver of its
    /// outcome, which ends the operation.
    pub(super) fn observed(
        &self,
        telemetry: &dyn Telemetry,
        method: &str,
        params: Option<&RawJson>,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
    ) -> (RequestExtras, Arc<dyn ReplyTo>) {
        let Some(operation) = RunningOperation::begin(telemetry, &self.runtime, self.operation(method, params)) else {
            return (extras, reply);
        };
        let trace = Arc::new(SentTrace::new(operation.context()));
        let extras = RequestExtras { trace: Some(Arc::clone(&trace)), ..extras };
        (extras, Arc::new(ObservedReply::new(operation, method, trace, reply)))
    }

    /// The begin of the operation of a notification. `given`: that of a program which has begun a
    /// span for it.
    pub(super) fn observed_notification(
        &self,
        method: &str,
        params: Option<&RawJson>,
        given: Option<Arc<dyn OpenOperation>>,
    ) -> Option<RunningOperation> {
        let telemetry = self.telemetry.as_deref()?;
        match given {
            Some(open) => Some(RunningOperation::of(open, &self.runtime)),
            None => RunningOperation::begin(telemetry, &self.runtime, self.operation(method, params)),
        }
    }

    /// Begins the operation of a request of the server.
    pub(super) fn observed_request(&self, request: &IncomingRequest) -> Option<RunningOperation> {
        let telemetry = self.telemetry.as_deref()?;
        let (method, params, id) = (request.method, Some(&request.params), Some(&request.id));
        let now = self.runtime.unix_time();
        let operation = OperationStart::new(OperationKind::Server, method, params, id, self.way(), now);
        let operation = operation.with_parent(TraceContext::of_params(params));
        RunningOperation::begin(telemetry, &self.runtime, operation)
    }

    /// Reports the end of the session, if there was one.
    pub(super) fn session_ended(&self, error: Option<&ClientError>) {
        let (Some(telemetry), Some(server)) = (&self.telemetry, self.server.get()) else { return };
        if server.revision.era() == Era::Legacy {
            let way = self.observed_way();
            let duration = self.runtime.now().saturating_duration_since(self.began);
            let failure = error.map(|error| error.kind().as_str());
            telemetry.session_ended(ObservedSession::new(OperationKind::Client, way, failure, duration));
        }
    }

    /// The facts of requests to the server.
    pub(super) fn observed_way(&self) -> NetworkFacts {
        NetworkFacts { server: self.connector.server_address(), ..self.way() }
    }

    fn way(&self) -> NetworkFacts {
        let link = if self.transport == Transport::Http { self.link() } else { None };
        NetworkFacts {
            transport: Some(self.transport),
            revision: self.server.get().map(|server| server.revision),
            session_id: link.and_then(|link| link.session_id()),
            ..NetworkFacts::default()
        }
    }
}

/// The end of an operation with the outcome of its requests.
pub fn end_of(method: &str, outcome: &Result<RawJson, ClientError>, trace: &SentTrace) -> OperationEnd {
    end_with(method, outcome).with_requests(method, &trace.requests(), &[])
}

/// The end of an operation with its outcome.
pub(super) fn end_with(method: &str, outcome: &Result<RawJson, ClientError>) -> OperationEnd {
    let answered = |answer: &Result<RawJson, RpcError>| OperationEnd::answered(method, answer);
    match outcome {
        Ok(result) => answered(&Ok(result.clone())),
        // The caller answers, and calls again.
        Err(ClientError::InputRequired(_)) => OperationEnd::default(),
        Err(error) => match error.rpc() {
            Some(error) => OperationEnd::refused(error),
            None => OperationEnd::failed(error.kind().as_str(), Some(error.to_string())),
        },
    }
}

/// Ends the operation of a request with its outcome.
pub(super) struct ObservedReply {
    operation: RunningOperation,
    method: String,
    trace: Arc<SentTrace>,
    reply: Arc<dyn ReplyTo>,
    /// The facts of the connection, where it is that of an opening.
    opened: Option<NetworkFacts>,
}

impl ObservedReply {
    pub(super) fn new(
        operation: RunningOperation,
        method: &str,
        trace: Arc<SentTrace>,
        reply: Arc<dyn ReplyTo>,
    ) -> Self {
        Self { operation, method: method.to_owned(), trace, reply, opened: None }
    }

    /// The same for a request that is all an opening takes.
    pub(super) fn opening(self, way: NetworkFacts) -> Self {
        Self { opened: Some(way), ..self }
    }
}

impl ReplyTo for ObservedReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let end = end_of(&self.method, &outcome, &self.trace);
        self.operation.end(match &self.opened {
            Some(way) => end.opened_by(&self.method, way.clone()),
            None => end,
        });
        self.reply.answered(outcome);
    }

    fn progress(&self, params: RawJson) {
        self.operation.run(|| self.reply.progress(params));
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }
}

//! Observers of a conversation: telemetry, the wire log and the test session. All are
//! optional; code that serves requests reaches them through [`Connection::observers`] only.

use super::{
    call_observer::CallObserver,
    client_request_state::PendingRequest,
    connection::Connection,
    open_requests::{Queued, Reply},
    outbound::{Outbound, OutgoingMessage},
};
use crate::{
    engine::{IncomingCall, Received, RequestInfo},
    protocol::{
        RawJson, Revision, RpcError, TraceContext,
        envelope::{Message, Request},
        method::{self, MessageKind, Method, Sender},
    },
    runtime::Runtime,
    server::handlers::{Arrival, ToolError},
    sync::Mutex,
    telemetry::{NetworkFacts, ObservedSession, OperationEnd, OperationKind, OperationStart, RunningOperation},
    wire_log::{Direction, MessageInfo, Side},
};
use std::{
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};

/// Replaces a method that the protocol does not define: clients could send any name.
const OTHER: &str = "_OTHER";

/// State of the observers of one conversation.
pub(super) struct ObserverState {
    has_wire_log: bool,
    test_session: OnceLock<Arc<TestSession>>,
    /// When the session was opened, if it is observed.
    session_began: OnceLock<Instant>,
}

impl ObserverState {
    pub(super) fn new(runtime: &dyn Runtime) -> Self {
        let has_wire_log = runtime.wire_log().is_some();
        Self { has_wire_log, test_session: OnceLock::new(), session_began: OnceLock::new() }
    }
}

/// The observers of one conversation, of which at least one is on.
#[derive(Clone, Copy)]
pub(in crate::server) struct ConversationObservers<'a>(&'a Connection);

/// A message as it arrived.
pub(super) struct ObservedMessage {
    message: Message,
    /// Since the Unix epoch.
    began_at: Duration,
    began: Instant,
}

impl ObservedMessage {
    /// The method of a request.
    pub(super) fn method(&self) -> &str {
        match &self.message {
            Message::Request(request) => &request.method,
            _ => "",
        }
    }
}

/// The revision and capabilities that govern a recorded message.
#[derive(Clone, Copy, Default)]
pub(in crate::server) struct LogContext<'a> {
    /// `None`: that of the session.
    revision: Option<Revision>,
    client_capabilities: Option<&'a RawJson>,
}

impl<'a> From<&'a RequestInfo> for LogContext<'a> {
    fn from(info: &'a RequestInfo) -> Self {
        Self { revision: Some(info.revision), client_capabilities: Some(&info.client_capabilities) }
    }
}

impl From<Revision> for LogContext<'_> {
    fn from(revision: Revision) -> Self {
        Self { revision: Some(revision), client_capabilities: None }
    }
}

impl Connection {
    /// The observers, unless all are off.
    pub(in crate::server) fn observers(&self) -> Option<ConversationObservers<'_>> {
        let state = &self.observer_state;
        let is_observed =
            state.has_wire_log || self.server().telemetry().is_some() || state.test_session.get().is_some();
        is_observed.then_some(ConversationObservers(self))
    }

    /// Adds a test session, before the first message.
    pub(crate) fn observe_in(&self, test_session: &Arc<TestSession>) {
        let _ = self.observer_state.test_session.set(Arc::clone(test_session));
    }

    /// Returns whether handlers that ask the client run again from the top on every revision.
    pub(in crate::server) fn reruns_handlers(&self) -> bool {
        self.server().options().rerun_handlers || self.observer_state.test_session.get().is_some()
    }

    /// Starts to observe a call.
    pub(super) fn observe(&self, call: &IncomingCall, reply: &Reply) -> CallObserver {
        CallObserver::new(self.observers().and_then(|observers| observers.begin(call, reply)))
    }

    /// Sends a message.
    pub(in crate::server) fn send(
        &self,
        reply: &dyn Outbound,
        outgoing: OutgoingMessage,
        context: LogContext<'_>,
        method: &str,
    ) {
        if let Some(observers) = self.observers() {
            observers.sent(&outgoing, context, method);
        }
        reply.send(outgoing);
    }
}

impl<'a> ConversationObservers<'a> {
    /// A message has arrived.
    pub(super) fn arrived(self, message: &Message) -> ObservedMessage {
        let runtime = self.0.runtime();
        ObservedMessage { message: message.clone(), began_at: runtime.unix_time(), began: runtime.now() }
    }

    /// The engine has decided about a message.
    pub(super) fn received(self, observed: &ObservedMessage, received: &Received<Queued, PendingRequest>) {
        let Some(log) = self.0.runtime().wire_log() else { return };
        let context: LogContext<'_> = match received {
            Received::Call(call, _) => (&call.info).into(),
            Received::Initialize(_, revision) => (*revision).into(),
            _ => LogContext::default(),
        };
        let refused = matches!(received, Received::Refuse(_));
        log.message(&self.info(Direction::Received, context, refused), &observed.message);
    }

    /// The conversation itself has answered a request.
    pub(super) fn answered(
        self,
        observed: &ObservedMessage,
        revision: Option<Revision>,
        reply: &Reply,
        answer: &Result<RawJson, RpcError>,
    ) {
        let (Message::Request(request), Some(telemetry)) = (&observed.message, self.0.server().telemetry()) else {
            return;
        };
        let Request { id, method, params } = request;
        let known = Revision::ALL
            .iter()
            .rev()
            .find_map(|revision| Method::find(method, MessageKind::Request, Sender::Client, *revision));
        let name = known.map_or(OTHER, |method| method.name);
        if name == method::INITIALIZE && answer.is_ok() {
            let _ = self.0.observer_state.session_began.set(observed.began);
        }
        let (facts, meta) = (self.facts(revision, reply), TraceContext::of_params(params.as_ref()));
        let parent = if meta.is_empty() { parent(None, reply) } else { meta };
        let start = OperationStart::received(name, params.as_ref(), id, facts, observed.began_at);
        if let Some(running) = RunningOperation::begin(telemetry, self.0.runtime(), start.with_parent(parent)) {
            running.end(OperationEnd::answered(name, answer));
        }
    }

    /// A call starts.
    fn begin(self, call: &IncomingCall, reply: &Reply) -> Option<RunningOperation> {
        let (telemetry, runtime) = (self.0.server().telemetry()?, self.0.runtime());
        let facts = self.facts(Some(call.info.revision), reply);
        let (method, params) = (call.method.name, call.params.as_ref());
        let start = OperationStart::received(method, params, &call.id, facts, runtime.unix_time());
        let start = start.with_parent(parent(call.info.meta.as_ref(), reply));
        RunningOperation::begin(telemetry, runtime, start)
    }

    /// Called when a client request starts.
    pub(in crate::server) fn client_request(self, start: impl FnOnce() -> OperationStart) -> Option<RunningOperation> {
        RunningOperation::begin(self.0.server().telemetry()?, self.0.runtime(), start())
    }

    /// A handler has failed without a message for its client.
    pub(in crate::server) fn failed(self, name: &str, error: &Arc<ToolError>) {
        if let Some(test_session) = self.0.observer_state.test_session.get() {
            test_session.note(name, error);
        }
    }

    /// The session has ended.
    pub(super) fn session_ended(self) {
        let (Some(began), Some(telemetry)) = (self.0.observer_state.session_began.get(), self.0.server().telemetry())
        else {
            return;
        };
        let (transport, revision) = (Some(self.0.setup.transport), self.0.revision());
        let facts = NetworkFacts { transport, revision, ..NetworkFacts::default() };
        let duration = self.0.runtime().now().saturating_duration_since(*began);
        telemetry.session_ended(ObservedSession::new(OperationKind::Server, facts, None, duration));
    }

    fn sent(self, outgoing: &OutgoingMessage, context: LogContext<'_>, method: &str) {
        let Some(log) = self.0.runtime().wire_log() else { return };
        let (text, refused) = match outgoing {
            OutgoingMessage::Response { message, failure } => (message, failure.is_some_and(|failure| failure.refused)),
            OutgoingMessage::Notification(message) | OutgoingMessage::Request(message) => (message, false),
            OutgoingMessage::Abandoned => return,
        };
        log.text(&MessageInfo { method: Some(method), ..self.info(Direction::Sent, context, refused) }, text);
    }

    fn info(self, direction: Direction, context: LogContext<'a>, refused: bool) -> MessageInfo<'a> {
        let LogContext { revision, client_capabilities } = context;
        let revision = revision.or_else(|| self.0.revision());
        let (side, transport, connection) = (Side::Server, self.0.setup.transport, Some(self.0.number));
        MessageInfo { side, direction, connection, transport, revision, client_capabilities, method: None, refused }
    }

    fn facts(self, revision: Option<Revision>, reply: &Reply) -> NetworkFacts {
        let facts = reply.arrival().map(Arrival::transmission).unwrap_or_default();
        NetworkFacts { transport: Some(self.0.setup.transport), revision, ..facts }
    }
}

/// The trace context of a request: from its `_meta`, or else from the headers of its HTTP request.
fn parent(meta: Option<&RawJson>, reply: &Reply) -> TraceContext {
    let context = meta.map(TraceContext::of_meta).unwrap_or_default();
    if context.traceparent.is_some() {
        context
    } else {
        reply.arrival().map_or(context, |arrival| arrival.trace_context())
    }
}

/// A subscription stream whose notifications are observed.
pub(super) struct ObservedStream {
    pub(super) connection: Weak<Connection>,
    pub(super) client_capabilities: RawJson,
    pub(super) reply: Reply,
}

impl Outbound for ObservedStream {
    fn send(&self, outgoing: OutgoingMessage) {
        let context =
            LogContext { revision: Some(Revision::LATEST), client_capabilities: Some(&self.client_capabilities) };
        match self.connection.upgrade() {
            Some(connection) if matches!(outgoing, OutgoingMessage::Notification(_)) => {
                connection.send(&*self.reply, outgoing, context, "");
            }
            _ => self.reply.send(outgoing),
        }
    }
}

/// Maximum recorded failures; later ones are only logged.
const MAX_FAILURES: usize = 1_000;

/// A handler that failed without a message for its client: an internal error or a panic.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandlerFailure {
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: String,
    /// The failure. [`ToolError::internal_error`] is the error of the handler itself.
    pub error: Arc<ToolError>,
}

/// The failures of a test, which a client would only find in the log of the server. Handlers that
/// ask its client run again from the top on every revision.
#[derive(Debug, Default)]
pub struct TestSession(Mutex<Vec<HandlerFailure>>);

impl TestSession {
    pub(super) fn note(&self, name: &str, error: &Arc<ToolError>) {
        let mut failures = self.0.lock();
        if failures.len() < MAX_FAILURES {
            failures.push(HandlerFailure { name: name.to_owned(), error: Arc::clone(error) });
        }
    }

    /// Takes the failures recorded so far.
    pub fn take_failures(&self) -> Vec<HandlerFailure> {
        std::mem::take(&mut *self.0.lock())
    }
}

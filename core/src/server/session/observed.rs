//! The telemetry of a conversation: its requests and its session.

use super::{connection::Connection, outbound::Outbound};
use crate::{
    engine::IncomingCall,
    protocol::{
        RawJson, Revision, RpcError, TraceContext,
        envelope::{Message, Request},
        method::{MessageKind, Method, Sender},
    },
    telemetry::{
        NetworkFacts, ObservedSession, OperationEnd, OperationKind, OperationStart, RunningOperation, Telemetry,
    },
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The name of a method that the protocol does not have: those of clients could be any.
const OTHER: &str = "_OTHER";

/// Begins the operation of a call.
pub(super) fn operation_of(
    telemetry: &dyn Telemetry,
    connection: &Connection,
    call: &IncomingCall,
    reply: &Arc<dyn Outbound>,
) -> Option<Arc<RunningOperation>> {
    let (info, runtime) = (&call.info, connection.runtime());
    let way = way(connection, Some(info.revision), reply);
    let (method, params) = (call.method.name, call.params.as_ref());
    let operation =
        OperationStart::new(OperationKind::Server, method, params, Some(&call.id), way, runtime.unix_time());
    let operation = operation.with_parent(parent(info.meta.as_ref(), reply));
    RunningOperation::begin(telemetry, runtime, operation).map(Arc::new)
}

/// A request that the conversation answers itself.
pub(super) struct Observed<'a> {
    telemetry: &'a dyn Telemetry,
    request: Request,
    since_1970: Duration,
    pub(super) began: Instant,
}

impl<'a> Observed<'a> {
    /// `None`: the message is not a request.
    pub(super) fn new(telemetry: &'a dyn Telemetry, connection: &Connection, message: &Message) -> Option<Self> {
        let Message::Request(request) = message else { return None };
        let runtime = connection.runtime();
        Some(Self { telemetry, request: request.clone(), since_1970: runtime.unix_time(), began: runtime.now() })
    }

    pub(super) fn answered(
        self,
        connection: &Connection,
        revision: Option<Revision>,
        reply: &Arc<dyn Outbound>,
        answer: &Result<RawJson, RpcError>,
    ) {
        let Request { id, method, params } = &self.request;
        let known = Revision::ALL
            .iter()
            .rev()
            .find_map(|revision| Method::find(method, MessageKind::Request, Sender::Client, *revision));
        let name = known.map_or(OTHER, |method| method.name);
        let (way, meta) = (way(connection, revision, reply), TraceContext::of_params(params.as_ref()));
        let parent = if meta.is_empty() { parent(None, reply) } else { meta };
        let operation =
            OperationStart::new(OperationKind::Server, name, params.as_ref(), Some(id), way, self.since_1970);
        let operation = operation.with_parent(parent);
        if let Some(running) = RunningOperation::begin(self.telemetry, connection.runtime(), operation) {
            running.end(OperationEnd::answered(name, answer));
        }
    }
}

/// The end of the session of a conversation.
pub(super) fn session_end(connection: &Connection, began: Instant) -> ObservedSession {
    let way = NetworkFacts {
        transport: Some(connection.transport()),
        revision: connection.revision(),
        ..NetworkFacts::default()
    };
    let duration = connection.runtime().now().saturating_duration_since(began);
    ObservedSession::new(OperationKind::Server, way, None, duration)
}

/// The trace context of a request: that of its `_meta`, or else of the headers of the HTTP request
/// that brought it.
fn parent(meta: Option<&RawJson>, reply: &Arc<dyn Outbound>) -> TraceContext {
    let context = meta.map(TraceContext::of_meta).unwrap_or_default();
    if context.traceparent.is_some() { context } else { reply.arrival().map_or(context, |way| way.trace_context()) }
}

fn way(connection: &Connection, revision: Option<Revision>, reply: &Arc<dyn Outbound>) -> NetworkFacts {
    let way = reply.arrival().map(|arrival| arrival.transmission(connection.is_stateless())).unwrap_or_default();
    NetworkFacts { transport: Some(connection.transport()), revision, ..way }
}

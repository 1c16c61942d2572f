//! Request logging: the span of each request, and a debug record with its outcome.

use crate::{
    engine::IncomingCall,
    protocol::{RawJson, RequestId, RpcError},
    runtime::Runtime,
    server::{handlers::Arrival, session::Reply},
    telemetry::excerpt,
};
use std::time::Instant;
use tracing::{Span, field};

/// The span in which the middleware and the handler of a request run.
pub(super) fn span_of(call: &IncomingCall, reply: &Reply) -> Span {
    tracing::info_span!(
        target: "trunkline::server::request",
        "mcp.call",
        method = call.method.name,
        name = field::Empty,
        revision = call.info.revision.as_str(),
        session = reply.arrival().and_then(Arrival::session_id),
        request_id = %excerpt(&call.id.to_string()),
        principal = call.info.auth.is_some().then(|| call.info.principal()),
    )
}

/// The start of a request, if requests are logged. Parts of a request are not logged separately.
#[derive(Default)]
pub(super) struct RequestRecord(Option<Instant>);

impl RequestRecord {
    pub(super) fn begin(runtime: &dyn Runtime) -> Self {
        let is_logged = tracing::event_enabled!(target: "trunkline::server::request", tracing::Level::DEBUG);
        Self(is_logged.then(|| runtime.now()))
    }

    /// Request finished; the span carries its name.
    pub(super) fn end(&self, runtime: &dyn Runtime, method: &str, id: &RequestId, outcome: &Result<RawJson, RpcError>) {
        let Some(began) = self.0 else { return };
        let milliseconds = runtime.now().saturating_duration_since(began).as_secs_f64() * 1e3;
        let error = outcome.as_ref().err();
        tracing::debug!(
            target: "trunkline::server::request",
            method,
            request_id = %excerpt(&id.to_string()),
            milliseconds,
            code = error.map(|error| error.code),
            error = error.map(|error| error.message.as_str()),
            "request served"
        );
    }
}

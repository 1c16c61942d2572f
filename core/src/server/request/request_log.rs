//! Request logging: a debug record of each request with its outcome.

use crate::{
    protocol::{RawJson, RequestId, RpcError},
    runtime::Runtime,
};
use std::time::Instant;

/// The start of a request, if requests are logged.
pub(super) struct RequestRecord(Option<Instant>);

impl RequestRecord {
    pub(super) fn begin(runtime: &dyn Runtime) -> Self {
        let is_logged = tracing::event_enabled!(target: "trunkline::server::request", tracing::Level::DEBUG);
        Self(is_logged.then(|| runtime.now()))
    }

    /// For parts of a request, which are not logged separately.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Request finished; the span carries its name.
    pub(super) fn end(&self, runtime: &dyn Runtime, method: &str, id: &RequestId, outcome: &Result<RawJson, RpcError>) {
        let Some(began) = self.0 else { return };
        let milliseconds = runtime.now().saturating_duration_since(began).as_secs_f64() * 1e3;
        let error = outcome.as_ref().err();
        tracing::debug!(
            target: "trunkline::server::request",
            method,
            request_id = %id,
            milliseconds,
            code = error.map(|error| error.code),
            error = error.map(|error| error.message.as_str()),
            "request served"
        );
    }
}

//! Telemetry: the requests of servers and clients as spans and measurements, by the semantic
//! conventions of OpenTelemetry for MCP (version 1.41.0, `docs/gen-ai/mcp.md`).
//!
//! An operation is a request or a notification from its start to its end, seen from its sender
//! ([`OperationKind::Client`]) or its receiver ([`OperationKind::Server`]). Names and attributes
//! are made here, once for all languages. A [`Telemetry`] makes spans and measurements of them:
//! with the cargo feature `opentelemetry` that is `OpenTelemetry`, over the global providers of
//! the program. Without a receiver nothing is made, and a request pays for one comparison.

mod ambient;
mod attributes;
mod load;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod operation_end;
mod operation_start;
mod receiver;
mod running;

pub use attributes::{Attribute, AttributeValue, DURATION_BOUNDARIES, SCOPE};
pub use load::{LoadMeasurement, ServerLoad, ServerLoads};
#[cfg(feature = "opentelemetry")]
pub use opentelemetry::OpenTelemetry;
pub use operation_end::{ObservedRequest, ObservedSession, OperationEnd};
pub use operation_start::{DurationMetric, OperationKind, OperationStart};
pub use receiver::{OpenOperation, Telemetry};
#[doc(hidden)]
pub use running::RunningOperation;

#[doc(hidden)]
pub use ambient::Ambient;
pub(crate) use attributes::excerpt;
pub(crate) use load::LoadShare;
pub(crate) use operation_start::NetworkFacts;

use std::sync::Arc;

/// The receiver from the options, or else the program's default. `None` if telemetry is off.
pub(crate) fn or_of_program(wanted: Option<bool>, given: Option<Arc<dyn Telemetry>>) -> Option<Arc<dyn Telemetry>> {
    if wanted == Some(false) {
        return None;
    }
    let found = given.or_else(of_program);
    if found.is_none() && wanted == Some(true) {
        tracing::warn!(
            target: "trunkline::telemetry",
            "telemetry is enabled, but has no receiver: enable the cargo feature `opentelemetry` and set a global provider first, or set a receiver"
        );
    }
    found
}

#[cfg(feature = "opentelemetry")]
fn of_program() -> Option<Arc<dyn Telemetry>> {
    opentelemetry::is_set_up().then(|| -> Arc<dyn Telemetry> { Arc::new(OpenTelemetry::global()) })
}

#[cfg(not(feature = "opentelemetry"))]
fn of_program() -> Option<Arc<dyn Telemetry>> {
    None
}

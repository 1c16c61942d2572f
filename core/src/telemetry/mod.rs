//! Telemetry: the requests of servers and clients as spans and measurements, by the semantic
//! conventions of OpenTelemetry for MCP (version 1.41.0, `docs/gen-ai/mcp.md`).
//!
//! An operation is a request from its begin to its end, seen from its sender
//! ([`OperationKind::Client`]) or its receiver ([`OperationKind::Server`]). Names and attributes are
//! made here, once for all languages. A [`Telemetry`] makes spans and measurements of them: with the
//! cargo feature `opentelemetry` that is [`OpenTelemetry`], over the global providers of the
//! program. Without a receiver nothing is made, and a request pays for one comparison.

mod ambient;
mod attributes;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod operation;
mod outcome;
mod receiver;
mod running;

pub use attributes::{Attribute, AttributeValue};
#[cfg(feature = "opentelemetry")]
pub use opentelemetry::OpenTelemetry;
pub use operation::{DurationMetric, OperationKind, OperationStart};
pub use outcome::{OperationEnd, SessionEnd};
pub use receiver::{OpenOperation, Telemetry};
#[doc(hidden)]
pub use running::RunningOperation;

pub(crate) use ambient::Ambient;
pub(crate) use operation::NetworkFacts;
pub(crate) use receiver::or_of_program;

/// Boundaries of the buckets of all histograms, in seconds.
pub const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The name under which spans and measurements are reported (the instrumentation scope).
pub const SCOPE: &str = "trunkline";

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
mod receiver_choice;
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
pub(crate) use receiver_choice::or_of_program;

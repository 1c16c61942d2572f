//! Chooses the telemetry receiver.

use super::Telemetry;
#[cfg(feature = "opentelemetry")]
use super::{OpenTelemetry, opentelemetry};
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

//! The telemetry of a client.

pub(crate) mod call_operation;
pub(crate) mod observed_opening;

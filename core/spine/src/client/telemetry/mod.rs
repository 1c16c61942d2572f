//! The telemetry of a client.

pub(crate) mod call_operation;
mod observed_client;
pub(crate) mod observed_opening;

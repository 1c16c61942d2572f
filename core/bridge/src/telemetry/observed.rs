//! Telemetry records requested by the host.

use crate::{
    BridgeError, PortState,
    message::{NEXT, OPEN, Request},
    state::tables::HandleKind,
    telemetry::{TelemetryRecord, since_1970},
};
use trunkline::{bridge_support::opening_start, protocol::method::Method, telemetry::OperationStart};

/// See [`Port::telemetry`](crate::Port::telemetry).
pub(crate) fn record(state: &PortState, target: u64, given: Option<&Request>) -> Result<Option<String>, BridgeError> {
    let record = match (given, HandleKind::of(target)) {
        (Some(given), None) if given.method == OPEN => Some(state.telemetry.begin_of_host(opening_start(since_1970()))),
        (Some(given), Some(HandleKind::Connection)) if given.notification => {
            let start = state.client(target).and_then(|client| client.operation(&given.method, given.params.as_ref()));
            start.map(|start| state.telemetry.begin_of_host(start))
        }
        (Some(given), _) => start_of(state, target, given).map(|start| TelemetryRecord::begun(0, &start)),
        (None, Some(HandleKind::Request)) => state.telemetry.take_sent(target),
        (None, Some(HandleKind::Call)) => {
            state.call_info(target).and_then(|info| state.telemetry.served(info.operation()?.number()))
        }
        (None, Some(HandleKind::FunctionCall)) => {
            let number = state.tables.lock().function_calls.get(target).map(|request| request.operation);
            number.and_then(|number| state.telemetry.served(number))
        }
        (None, _) => None,
    };
    let json = record.map(|record| serde_json::to_string(&record.into_value()));
    json.transpose().map_err(|error| BridgeError::invalid(error.to_string()))
}

/// See [`Port::measurements`](crate::Port::measurements).
pub(crate) fn measurements(state: &PortState) -> Result<Option<String>, BridgeError> {
    let measurements = if state.queue.is_closing() { None } else { state.telemetry.measurements() };
    let json = measurements.map(|measurements| serde_json::to_string(&measurements));
    json.transpose().map_err(|error| BridgeError::invalid(error.to_string()))
}

/// The start of a host's request, or `None` if nothing is sent for it.
fn start_of(state: &PortState, target: u64, given: &Request) -> Option<OperationStart> {
    if given.method == NEXT || !Method::is_standard(&given.method) {
        return None;
    }
    match HandleKind::of(target) {
        Some(HandleKind::Connection) => state.client(target)?.operation(&given.method, given.params.as_ref()),
        Some(HandleKind::Call) => state.call_info(target)?.client_request(&given.method, given.params.as_ref()),
        _ => None,
    }
}

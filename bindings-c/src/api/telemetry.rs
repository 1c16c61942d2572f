//! Telemetry.

use std::ffi::c_void;

use crate::edge::prelude::*;
use crate::port::trunkline_port;
use crate::telemetry::{
    PortTelemetry, trunkline_span_begin_callback, trunkline_span_end_callback, trunkline_span_scope_callback,
    trunkline_trace_context,
};

/// Reports the requests and sessions of all servers and clients of the port, for spans and metrics
/// that follow the OpenTelemetry semantic conventions for MCP. Set it once, before clients connect:
/// servers of the port report from then on, and clients that connect later. The option `telemetry`
/// excludes a server or a client. `begin` and `end` are required, `scope` may be NULL. They run on
/// the thread that sends the request, dispatches the port, or drops the last handle; spans of
/// outgoing requests may begin on several threads at once. `TRUNKLINE_INVALID_ARGUMENT` if it was
/// already set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_on_telemetry(
    port: *mut trunkline_port,
    begin: trunkline_span_begin_callback,
    scope: trunkline_span_scope_callback,
    end: trunkline_span_end_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let data = UserData::new(user_data, destructor);
    guard_result(|| {
        let port = &handle!(port).port;
        let begin = begin.ok_or_else(|| Failure::null("begin"))?;
        let end = end.ok_or_else(|| Failure::null("end"))?;
        port.attach_telemetry(PortTelemetry { begin, scope, end, data, spans: Default::default() })
    })
}

/// The load of the port's reporting servers (`trunkline_port_on_telemetry`): sessions, running and
/// queued calls, and failures of the store. For the callbacks of observable instruments, which run
/// when the program collects metrics. `json` is an object whose member `measurements` is an array
/// of `name`, `description`, `unit`, `monotonic` (`true` for a counter, `false` for an up-down
/// counter) and `value`, an integer. The caller owns it; free it with `trunkline_text_free`.
/// `TRUNKLINE_NOT_FOUND` if no server reports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_port_measurements(
    port: *mut trunkline_port,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (port, json) = (&handle!(port).port, out!(json));
        let measured = port.core.measurements()?;
        let measured = measured.ok_or_else(|| Failure::not_found("no server of the port reports measurements"))?;
        json.finish(Text::new(measured).give())
    })
}

/// Sets a member of the trace context of a request: `key` is "traceparent", "tracestate" or
/// "baggage"; others are ignored. For `trunkline_span_begin_callback`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_trace_context_set(
    context: *mut trunkline_trace_context,
    key: trunkline_str,
    value: trunkline_str,
) -> trunkline_result {
    guard_result(|| {
        let (context, key, value) = (handle!(context), text!(key), text!(value));
        context.context.lock().set(key, value);
        Ok(())
    })
}

//! Telemetry of a port: the program turns its records into spans and metrics.

use std::collections::HashMap;

use serde_json::Value;
use trunkline::protocol::TraceContext;

use crate::edge::prelude::*;
use crate::edge::user_data::Nullable;
use crate::json::typed;

/// Begins the span of a request, a connection attempt or a notification, and returns it for the
/// other callbacks; NULL if there is none. `record` is a `TelemetryRecord` as JSON: `kind`
/// ("server" or "client"), `name`, `attributes`, `startUs`, and `context`, the trace context
/// received with the request. For a message that is about to be sent, the span is a child of the
/// thread's current one, and `context` takes the new span's trace context
/// (`trunkline_trace_context_set`); for a request being served, `context` is NULL. All arguments
/// are borrowed until the callback returns.
pub type trunkline_span_begin_callback = Option<
    unsafe extern "C" fn(
        record: *const trunkline_str,
        context: *mut trunkline_trace_context,
        user_data: *mut c_void,
    ) -> *mut c_void,
>;

/// Makes a span the current one of the thread (`entered` is true) before a callback that serves its
/// request, and undoes this (`entered` is false) after it.
pub type trunkline_span_scope_callback =
    Option<unsafe extern "C" fn(span: *mut c_void, entered: bool, user_data: *mut c_void)>;

/// Ends a span, and records its metric. `record` contains all attributes, `startUs`, `endUs`,
/// `error` (on failure: the message, which may be empty) and `metric`: `name`, `description`,
/// `value` in seconds, `attributes` and `boundaries`. The `name` of a connection attempt may differ
/// from the one at its start. `requests`, if present, are the requests of an operation that took
/// several, for child spans of this one, each with `name`, `attributes`, `startUs`, `endUs` and
/// `error`.
///
/// `span` is NULL if none was begun: for a request that the library answered itself and for a
/// reconnect, whose spans begin and end here, and for a session, which has no `name` and only a
/// metric. `record` is `{}` for a message that could not be sent, and for a request whose client
/// was freed before the response arrived. It is borrowed until the callback returns.
pub type trunkline_span_end_callback =
    Option<unsafe extern "C" fn(span: *mut c_void, record: *const trunkline_str, user_data: *mut c_void)>;

/// Takes the trace context of a request that is about to be sent.
#[derive(Default)]
pub struct trunkline_trace_context {
    pub(crate) context: Mutex<TraceContext>,
}

/// The callbacks of a port.
pub(crate) struct PortTelemetry {
    pub(crate) begin: <trunkline_span_begin_callback as Nullable>::Function,
    pub(crate) scope: trunkline_span_scope_callback,
    pub(crate) end: <trunkline_span_end_callback as Nullable>::Function,
    pub(crate) data: UserData,
    /// By number: the spans of openings, notifications, and requests that have reached a callback.
    pub(crate) spans: Mutex<HashMap<u64, Span>>,
}

/// A span of the program.
#[derive(Clone, Copy)]
pub(crate) struct Span(pub(crate) *mut c_void);

// SAFETY: the library only passes the pointer on, to the callbacks that it belongs to.
unsafe impl Send for Span {}
// SAFETY: as above: nothing is read through the pointer here.
unsafe impl Sync for Span {}

impl PortTelemetry {
    /// The span of a call's request.
    pub(crate) fn served(&self, core: &trunkline_bridge::Port, ticket: u64) -> Option<Span> {
        let record = core.telemetry(ticket, &[]).ok()??;
        let number = number_of(&record);
        let known = self.spans.lock().get(&number).copied();
        let span = known.unwrap_or_else(|| self.begin(&record, std::ptr::null_mut()));
        self.spans.lock().insert(number, span);
        Some(span)
    }

    /// Begins the span of a message that is about to be sent. Returns it with its trace context.
    pub(crate) fn begin_sent(&self, record: &str) -> (Span, Option<Value>) {
        let mut context = trunkline_trace_context::default();
        let span = self.begin(record, &raw mut context);
        (span, serde_json::to_value(&*context.context.lock()).ok())
    }

    /// Ends the span of a message that was refused.
    pub(crate) fn unsent(&self, number: u64) {
        let span = self.spans.lock().remove(&number);
        span.inspect(|span| self.end(Some(*span), "{}"));
    }

    /// Passes on the core's reports.
    pub(crate) fn receive(&self, records: &[u8]) {
        let records: Vec<Box<serde_json::value::RawValue>> = serde_json::from_slice(records).unwrap_or_default();
        for record in records {
            let record = record.get();
            let span = self.spans.lock().remove(&number_of(record));
            self.end(span, record);
        }
    }

    fn begin(&self, record: &str, context: *mut trunkline_trace_context) -> Span {
        let record = Text::copy(record);
        // SAFETY: the host's function with the host's data; the arguments live until it returns.
        Span(unsafe { (self.begin)(&record.lend(), context, self.data.pointer()) })
    }

    pub(crate) fn end(&self, span: Option<Span>, record: &str) {
        let (record, span) = (Text::copy(record), span.map_or(std::ptr::null_mut(), |span| span.0));
        // SAFETY: the host's function with the host's data; the text lives until it returns.
        unsafe { (self.end)(span, &record.lend(), self.data.pointer()) }
    }
}

pub(crate) fn number_of(record: &str) -> u64 {
    typed(record, "/number", "a number").unwrap_or(0)
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
        handle!(context).context.lock().set(text!(key), text!(value));
        Ok(())
    })
}

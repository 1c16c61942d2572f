//! Telemetry of a port: the program makes spans and measurements of the records.

use std::collections::HashMap;
use std::ffi::c_void;

use trunkline::bridge_support::Mutex;
use trunkline::protocol::TraceContext;
use trunkline_bridge::message::{HostSpan, Request};

use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::UserData;

/// Begins the span of a request, an opening or a notification, and gives it, for the other
/// callbacks; NULL if there is none. `record` is a `TelemetryRecord` as JSON: `kind` ("server" or
/// "client"), `name`, `attributes`, `startUs`, and `context`, the trace context that the request
/// came with. For a message that is about to be sent, which begins within what the thread does,
/// `context` takes the trace context of the new span by `trunkline_trace_context_set`; for one that
/// is served it is NULL. All arguments are borrowed until the callback returns.
pub type trunkline_span_begin_callback = Option<
    unsafe extern "C" fn(
        record: *const trunkline_str,
        context: *mut trunkline_trace_context,
        user_data: *mut c_void,
    ) -> *mut c_void,
>;

/// Makes a span the current one of the thread (`entered`), before a callback that serves its
/// request, and again not, after it.
pub type trunkline_span_scope_callback =
    Option<unsafe extern "C" fn(span: *mut c_void, entered: bool, user_data: *mut c_void)>;

/// Ends a span, and measures it. `record` has all attributes, `startUs`, `endUs`, `error` (if it
/// failed: the text, which may be empty) and `metric`: `name`, `description`, `value` in seconds,
/// `attributes` and `boundaries`. The `name` of an opening may be another one than at its begin.
/// `requests`, if it is there, are those of an operation that took several, each with `name`,
/// `attributes`, `startUs`, `endUs` and `error`, for spans below this one. `span` is NULL where
/// none was begun: of a request that the library answered itself and of a connection that it made
/// anew, whose spans are begun and ended here, and of a session, which has no `name` and is only
/// measured. `record` is `{}` for a message that could not be sent. It is borrowed until the
/// callback returns.
pub type trunkline_span_end_callback =
    Option<unsafe extern "C" fn(span: *mut c_void, record: *const trunkline_str, user_data: *mut c_void)>;

/// Takes the trace context of a request that is about to be sent.
#[derive(Default)]
pub struct trunkline_trace_context {
    pub(crate) context: Mutex<TraceContext>,
}

/// The callbacks of a port.
pub(crate) struct PortTelemetry {
    pub(crate) begin:
        unsafe extern "C" fn(*const trunkline_str, *mut trunkline_trace_context, *mut c_void) -> *mut c_void,
    pub(crate) scope: trunkline_span_scope_callback,
    pub(crate) end: unsafe extern "C" fn(*mut c_void, *const trunkline_str, *mut c_void),
    pub(crate) data: UserData,
    /// Of requests that are served and have reached a callback, of openings and of notifications,
    /// by their numbers.
    pub(crate) spans: Mutex<HashMap<u64, Span>>,
}

/// A span of the program.
#[derive(Clone, Copy)]
pub(crate) struct Span(*mut c_void);

// SAFETY: the library only passes the pointer on, to the callbacks that it belongs to.
unsafe impl Send for Span {}
// SAFETY: as above: nothing is read through the pointer here.
unsafe impl Sync for Span {}

impl PortTelemetry {
    /// Runs a callback that serves a call, within the span of its request.
    pub(crate) fn around<T>(&self, core: &trunkline_bridge::Port, ticket: u64, serve: impl FnOnce() -> T) -> T {
        let Some((span, scope)) = self.served(core, ticket).zip(self.scope) else { return serve() };
        // SAFETY: the host's function with the host's data.
        unsafe { scope(span.0, true, self.data.pointer()) }
        let served = serve();
        // SAFETY: as above.
        unsafe { scope(span.0, false, self.data.pointer()) }
        served
    }

    /// The span of the request that a call belongs to.
    fn served(&self, core: &trunkline_bridge::Port, ticket: u64) -> Option<Span> {
        let record = core.telemetry(ticket, &[]).ok()??;
        let number = number_of(&record);
        let known = self.spans.lock().get(&number).copied();
        let span = known.unwrap_or_else(|| self.begin(&record, std::ptr::null_mut()));
        self.spans.lock().insert(number, span);
        Some(span)
    }

    /// Begins the span of a request, which is given its trace context.
    pub(crate) fn sending(
        &self,
        core: &trunkline_bridge::Port,
        target: u64,
        request: Request,
    ) -> (Request, Option<Span>) {
        let Ok(Some(record)) = core.telemetry_message(target, Some(&request)) else { return (request, None) };
        let mut context = trunkline_trace_context::default();
        let span = self.begin(&record, &raw mut context);
        let trace = serde_json::to_value(&*context.context.lock()).unwrap_or_default();
        (request.with_trace(Some(trace)), Some(span))
    }

    /// Begins the span of the opening of a connection, or of a notification (`target` is its
    /// connection).
    pub(crate) fn numbered(&self, core: &trunkline_bridge::Port, target: u64, message: &Request) -> Option<HostSpan> {
        let record = core.telemetry_message(target, Some(message)).ok()??;
        let mut context = trunkline_trace_context::default();
        let (number, span) = (number_of(&record), self.begin(&record, &raw mut context));
        self.spans.lock().insert(number, span);
        let trace = serde_json::to_value(&*context.context.lock()).ok();
        Some(HostSpan { number, trace })
    }

    /// Ends the span of what was refused.
    pub(crate) fn unsent(&self, number: u64) {
        let span = self.spans.lock().remove(&number);
        if let Some(span) = span {
            self.end(Some(span), b"{}");
        }
    }

    /// Ends the span of a request. `None`: it could not be sent.
    pub(crate) fn sent(&self, core: &trunkline_bridge::Port, ticket: Option<u64>, span: Span) {
        let record = ticket.and_then(|ticket| core.telemetry(ticket, &[]).ok().flatten());
        let record = record.unwrap_or_else(|| b"{}".to_vec());
        self.end(Some(span), &record);
    }

    /// Takes what the core reports.
    pub(crate) fn receive(&self, records: &[u8]) {
        let records: Vec<Box<serde_json::value::RawValue>> = serde_json::from_slice(records).unwrap_or_default();
        for record in records {
            let record = record.get().as_bytes();
            let span = self.spans.lock().remove(&number_of(record));
            self.end(span, record);
        }
    }

    fn begin(&self, record: &[u8], context: *mut trunkline_trace_context) -> Span {
        let record = Text::copy(record);
        // SAFETY: the host's function with the host's data; the arguments live until it returns.
        Span(unsafe { (self.begin)(&record.lend(), context, self.data.pointer()) })
    }

    fn end(&self, span: Option<Span>, record: &[u8]) {
        let (record, span) = (Text::copy(record), span.map_or(std::ptr::null_mut(), |span| span.0));
        // SAFETY: the host's function with the host's data; the text lives until it returns.
        unsafe { (self.end)(span, &record.lend(), self.data.pointer()) }
    }
}

fn number_of(record: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct Numbered {
        number: u64,
    }
    serde_json::from_slice::<Numbered>(record).map_or(0, |record| record.number)
}

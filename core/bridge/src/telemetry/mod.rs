//! Telemetry for the host, which turns the records into spans and measurements.
//!
//! The host starts the spans of its own requests before it sends them, and those of incoming
//! requests before its functions run. The core supplies names, attributes and times, and reports
//! each end: for incoming requests with the event `Telemetry`, for outgoing ones when asked.

pub(crate) mod observed;

use crate::{
    BridgeError,
    events::queue::EventQueue,
    host_json::without_nulls,
    message::{HostSpan, Request},
};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};
use trunkline::{
    bridge_support::{Mutex, described, end_of},
    client::{ClientError, ClientOptions},
    protocol::{RawJson, SentTrace, TraceContext, method, model::JsonObject},
    server::{ClientRequestError, Server, ServerOptions},
    telemetry::{
        Attribute, DURATION_BOUNDARIES, DurationMetric, LoadMeasurement, ObservedRequest, ObservedSession,
        OpenOperation, OperationEnd, OperationKind, OperationStart, ServerLoad, ServerLoads, Telemetry,
    },
};

/// Maximum number of the host's operations that wait to begin, and of those whose end waits to be
/// fetched.
const MAX_NOTED: usize = 16_384;

described! {
    /// An observed request or notification, from its start to its end, or the end of a session,
    /// which has no name. At the start, the members about the end are missing.
    #[derive(Default, Serialize)]
    pub struct TelemetryRecord {
        /// Number of a served request, an opening or a notification; 0 for a request that is sent.
        required number: u64 = "number",
        /// Kind of the span: `server` or `client`.
        required kind: &'static str = "kind" as String,
        /// Name of the span.
        optional name: Option<String> = "name",
        /// Attributes of the span.
        required attributes: Value = "attributes" as JsonObject,
        /// Trace context received with the request: `traceparent`, `tracestate`, `baggage`.
        required context: Value = "context" as JsonObject,
        /// Start time, in microseconds since the Unix epoch.
        optional start_us: Option<u64> = "startUs",
        /// End time, in microseconds since the Unix epoch.
        optional end_us: Option<u64> = "endUs",
        /// Message of the failure; empty if it failed without one, absent on success.
        optional error: Option<String> = "error",
        /// Metric: `name` and `description` of the histogram, `value` in seconds, `attributes`, and
        /// the `boundaries` of its buckets.
        optional metric: Option<Value> = "metric" as JsonObject,
        /// The individual requests, if there was more than one: the rounds of a call (2026-07-28),
        /// or the attempts of an opening. Each has `name`, `attributes`, `startUs`, `endUs` and, if
        /// it failed, `error`, for a child span of the record's.
        optional requests: Option<Vec<Value>> = "requests" as Vec<JsonObject>,
    }

    /// The current load of a port's servers, for instruments that are read when metrics are
    /// collected.
    #[derive(Serialize)]
    pub struct TelemetryMeasurements {
        /// For each instrument: `name`, `description`, `unit`, whether it is `monotonic` (a
        /// counter) or not (an up-down counter), and `value`, an integer.
        required measurements: Vec<Value> = "measurements" as Vec<JsonObject>,
    }
}

impl TelemetryRecord {
    pub(crate) fn begun(number: u64, start: &OperationStart) -> Self {
        Self {
            number,
            kind: start.kind.name(),
            name: Some(start.name.clone()),
            attributes: object(start.attributes.iter()),
            context: json!(start.parent),
            start_us: Some(micros(start.began)),
            ..Self::default()
        }
    }

    fn ended(number: u64, start: &OperationStart, end: &OperationEnd) -> Self {
        let name = end.name.as_ref().unwrap_or(&start.name);
        let request = |one: &ObservedRequest| {
            let began = start.began + one.after;
            without_nulls(json!({
                "name": one.end.name.as_ref().unwrap_or(name),
                "attributes": object(one.end.attributes_with(&start.attributes)),
                "startUs": micros(began),
                "endUs": micros(began + one.end.duration),
                "error": failure_of(&one.end),
            }))
        };
        Self {
            name: Some(name.clone()),
            requests: (!end.requests.is_empty()).then(|| end.requests.iter().map(request).collect()),
            attributes: object(end.attributes_with(&start.attributes)),
            end_us: Some(micros(start.began + end.duration)),
            error: failure_of(end),
            metric: Some(metric(
                start.kind.operation_duration(),
                end.metric_attributes_with(&start.attributes),
                end.duration,
            )),
            ..Self::begun(number, start)
        }
    }

    fn of_session(session: &ObservedSession) -> Self {
        Self {
            kind: session.kind.name(),
            attributes: object(session.attributes.iter()),
            context: json!({}),
            metric: Some(metric(session.kind.session_duration(), session.attributes.iter(), session.duration)),
            ..Self::default()
        }
    }

    pub(crate) fn into_value(self) -> Value {
        without_nulls(json!(self))
    }
}

fn failure_of(end: &OperationEnd) -> Option<String> {
    end.is_failure().then(|| end.error.clone().unwrap_or_default())
}

fn object<'a>(attributes: impl Iterator<Item = &'a Attribute>) -> Value {
    attributes.map(|attribute| (attribute.key.to_owned(), json!(attribute.value))).collect::<Map<_, _>>().into()
}

fn metric<'a>(metric: DurationMetric, attributes: impl Iterator<Item = &'a Attribute>, duration: Duration) -> Value {
    json!({
        "name": metric.name,
        "description": metric.description,
        "value": duration.as_secs_f64(),
        "attributes": object(attributes),
        "boundaries": DURATION_BOUNDARIES,
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The operations of a port that have not ended or have not been fetched.
#[derive(Default)]
pub(crate) struct HostTelemetry {
    queue: Weak<EventQueue>,
    /// True if the host uses OpenTelemetry.
    is_on: AtomicBool,
    next: AtomicU64,
    /// Incoming operations by number.
    served: Mutex<IndexMap<u64, Arc<OperationStart>>>,
    /// Openings and notifications by number, whose spans have been started but that have not
    /// started themselves.
    begun: Mutex<IndexMap<u64, OperationStart>>,
    /// Outgoing operations by ticket.
    sent: Mutex<IndexMap<u64, SentOperation>>,
    loads: ServerLoads,
}

struct SentOperation {
    start: OperationStart,
    method: String,
    trace: Arc<SentTrace>,
    end: Option<OperationEnd>,
}

impl HostTelemetry {
    pub(crate) fn new(queue: &Arc<EventQueue>) -> Arc<Self> {
        Arc::new(Self { queue: Arc::downgrade(queue), next: AtomicU64::new(1), ..Self::default() })
    }

    /// Lets a server report to the host, if its options say so.
    pub(crate) fn of_server(self: &Arc<Self>, options: ServerOptions) -> ServerOptions {
        let receiver = self.receiver(options.telemetry);
        options.with_telemetry_receiver(receiver)
    }

    /// Starts reporting for these and all future servers.
    pub(crate) fn begin(self: &Arc<Self>, servers: &[Server]) {
        self.is_on.store(true, Ordering::Relaxed);
        for server in servers {
            if let Some(receiver) = self.receiver(server.options().telemetry) {
                server.set_telemetry(receiver);
            }
        }
    }

    /// Lets a client report to the host, if its options say so.
    pub(crate) fn of_client(self: &Arc<Self>, options: ClientOptions) -> ClientOptions {
        let receiver = self.receiver(options.telemetry);
        options.with_telemetry_receiver(receiver)
    }

    fn receiver(self: &Arc<Self>, wanted: Option<bool>) -> Option<Arc<dyn Telemetry>> {
        let is_on = wanted.unwrap_or_else(|| self.is_on.load(Ordering::Relaxed));
        is_on.then(|| Arc::new(Receiver(Arc::clone(self))) as Arc<dyn Telemetry>)
    }

    /// The record of an opening or notification that the host starts a span for.
    pub(crate) fn begin_of_host(&self, start: OperationStart) -> TelemetryRecord {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let record = TelemetryRecord::begun(number, &start);
        note(&mut self.begun.lock(), number, start);
        record
    }

    /// Starts an operation whose span the host has started. Returns `None` if that was too long
    /// ago.
    pub(crate) fn begun(self: &Arc<Self>, span: HostSpan) -> Result<Option<Arc<dyn OpenOperation>>, BridgeError> {
        let context = read_context(span.trace.unwrap_or_default())?;
        let (number, telemetry) = (span.number, Arc::clone(self));
        let start = self.begun.lock().shift_remove(&number);
        Ok(start.map(|start| {
            Arc::new(NumberedOperation { number, start: Arc::new(start), context, telemetry }) as Arc<dyn OpenOperation>
        }))
    }

    /// Ends a refused operation whose span the host has started, unless the operation has started.
    pub(crate) fn refuse(&self, number: u64, error: ClientError) {
        let start = self.begun.lock().shift_remove(&number);
        if let (Some(start), Some(queue)) = (start, self.queue.upgrade()) {
            let end = end_of(&start.name, &Err(error), &SentTrace::default());
            let end = end.with_duration(since_1970().saturating_sub(start.began));
            queue.push_telemetry(TelemetryRecord::ended(number, &start, &end).into_value());
        }
    }

    /// Records a request whose span the host has started. Returns the trace context for its
    /// messages.
    pub(crate) fn sending(
        &self,
        ticket: u64,
        start: Option<OperationStart>,
        given: &Request,
    ) -> Result<Option<Arc<SentTrace>>, BridgeError> {
        let Some(context) = &given.trace else { return Ok(None) };
        let trace = Arc::new(SentTrace::new(read_context(context.clone())?));
        if let Some(start) = start {
            let (method, trace) = (given.method.clone(), Arc::clone(&trace));
            note(&mut self.sent.lock(), ticket, SentOperation { start, method, trace, end: None });
        }
        Ok(Some(trace))
    }

    /// Records the outcome of a request to a server.
    pub(crate) fn answered(&self, ticket: u64, outcome: &Result<RawJson, ClientError>) {
        self.ended(ticket, |method, trace| end_of(method, outcome, trace));
    }

    /// Records the outcome of a request to the client of a call.
    pub(crate) fn client_answered(&self, ticket: u64, outcome: &Result<RawJson, ClientRequestError>) {
        self.ended(ticket, |_, _| outcome.as_ref().err().map(ClientRequestError::as_end).unwrap_or_default());
    }

    fn ended(&self, ticket: u64, end: impl FnOnce(&str, &SentTrace) -> OperationEnd) {
        if let Some(sent) = self.sent.lock().get_mut(&ticket) {
            let end = end(&sent.method, &sent.trace);
            sent.end = Some(end.with_duration(since_1970().saturating_sub(sent.start.began)));
        }
    }

    /// Takes the record of an outgoing request. One without an outcome was abandoned.
    pub(crate) fn take_sent(&self, ticket: u64) -> Option<TelemetryRecord> {
        let SentOperation { start, method, trace, end } = self.sent.lock().swap_remove(&ticket)?;
        let cancelled = || {
            let end = end_of(&method, &Err(ClientError::Cancelled), &trace);
            end.with_duration(since_1970().saturating_sub(start.began))
        };
        Some(TelemetryRecord::ended(0, &start, &end.unwrap_or_else(cancelled)))
    }

    /// The load of the reporting servers, or `None` if there have never been any.
    pub(crate) fn measurements(&self) -> Option<TelemetryMeasurements> {
        let measured = |measurement: LoadMeasurement| {
            json!({
                "name": measurement.name,
                "description": measurement.description,
                "unit": measurement.unit,
                "monotonic": measurement.is_monotonic,
                "value": measurement.value,
            })
        };
        let measurements = || self.loads.measurements().map(measured).into();
        (!self.loads.is_empty()).then(|| TelemetryMeasurements { measurements: measurements() })
    }

    pub(crate) fn served(&self, number: u64) -> Option<TelemetryRecord> {
        self.served.lock().get(&number).map(|start| TelemetryRecord::begun(number, start))
    }
}

/// Adds an entry. If there are too many, it replaces the oldest, which the host has never fetched.
fn note<T>(noted: &mut IndexMap<u64, T>, number: u64, value: T) {
    if noted.len() >= MAX_NOTED {
        noted.shift_remove_index(0);
    }
    noted.insert(number, value);
}

fn read_context(given: Value) -> Result<TraceContext, BridgeError> {
    let given = if given.is_null() { json!({}) } else { given };
    serde_json::from_value(given).map_err(|error| BridgeError::invalid(format!("trace: {error}")))
}

pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Receives incoming operations and reconnects. The host itself starts the operations that it
/// sends.
struct Receiver(Arc<HostTelemetry>);

impl Telemetry for Receiver {
    fn begin(&self, start: OperationStart) -> Option<Arc<dyn OpenOperation>> {
        if start.kind == OperationKind::Client && start.name != method::INITIALIZE {
            return None;
        }
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let start = Arc::new(start);
        if start.kind == OperationKind::Server {
            self.0.served.lock().insert(number, Arc::clone(&start));
        }
        let (context, telemetry) = (TraceContext::default(), Arc::clone(&self.0));
        Some(Arc::new(NumberedOperation { number, start, context, telemetry }))
    }

    fn server_began(&self, load: Arc<ServerLoad>) {
        self.0.loads.add(load);
    }

    fn session_ended(&self, session: ObservedSession) {
        if let Some(queue) = self.0.queue.upgrade() {
            queue.push_telemetry(TelemetryRecord::of_session(&session).into_value());
        }
    }
}

/// An operation whose end is reported as an event.
struct NumberedOperation {
    number: u64,
    start: Arc<OperationStart>,
    /// The context of the host's span, for an opening or a notification.
    context: TraceContext,
    telemetry: Arc<HostTelemetry>,
}

impl OpenOperation for NumberedOperation {
    fn context(&self) -> TraceContext {
        self.context.clone()
    }

    fn end(&self, end: OperationEnd) {
        // Before the event, so that a host that asks afterwards finds it ended.
        self.telemetry.served.lock().swap_remove(&self.number);
        if let Some(queue) = self.telemetry.queue.upgrade() {
            queue.push_telemetry(TelemetryRecord::ended(self.number, &self.start, &end).into_value());
        }
    }

    fn number(&self) -> u64 {
        self.number
    }
}

//! Operations as spans and measurements of OpenTelemetry.

use super::{
    Attribute, AttributeValue, DURATION_BOUNDARIES, DurationMetric, LoadMeasurement, ObservedRequest, ObservedSession,
    OpenOperation, OperationEnd, OperationKind, OperationStart, SCOPE, ServerLoad, ServerLoads, Telemetry,
};
use crate::protocol::TraceContext;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue, Value, global,
    global::BoxedTracer,
    metrics::{Histogram, Meter},
    propagation::{Extractor, Injector},
    trace::{Link, Span, SpanKind, Status, TraceContextExt, Tracer},
};
use std::{
    sync::{Arc, LazyLock, Once},
    time::{Duration, SystemTime},
};

/// The servers that report to the global providers, added up in one place, because each of them has
/// an [`OpenTelemetry`] of its own with instruments of the same names.
static OF_PROGRAM: LazyLock<Arc<ServerLoads>> = LazyLock::new(Arc::default);

/// Makes spans and measurements with the API of OpenTelemetry (cargo feature `opentelemetry`). The
/// trace context is read and written by the global propagator of the program, as far as it is that
/// of the W3C; without one, spans have no remote parents.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::{ServerOptions, telemetry::{OpenTelemetry, Telemetry}};
///
/// // Is the default with the feature; with a tracer and a meter of its own, `OpenTelemetry::new`.
/// let telemetry: Arc<dyn Telemetry> = Arc::new(OpenTelemetry::global());
/// let options = ServerOptions::default().with_telemetry_receiver(telemetry);
/// ```
pub struct OpenTelemetry {
    tracer: Arc<BoxedTracer>,
    operations: [Arc<Histogram<f64>>; 2],
    sessions: [Histogram<f64>; 2],
    meter: Meter,
    loads: Arc<ServerLoads>,
    /// The instruments of the loads are made with the first server.
    measures_loads: Once,
}

impl OpenTelemetry {
    /// With the global providers of the program as they are now. Servers and clients that are given
    /// nothing else do so when they are made: the program sets its providers before.
    pub fn global() -> Self {
        let scope = InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        let made = Self::new(global::tracer_with_scope(scope.clone()), &global::meter_with_scope(scope));
        Self { loads: Arc::clone(&OF_PROGRAM), ..made }
    }

    /// With a tracer and a meter. Servers that report to the same meter share one.
    pub fn new(tracer: BoxedTracer, meter: &Meter) -> Self {
        let histogram = |metric: DurationMetric| {
            let histogram = meter.f64_histogram(metric.name).with_description(metric.description).with_unit("s");
            histogram.with_boundaries(DURATION_BOUNDARIES.to_vec()).build()
        };
        Self {
            tracer: Arc::new(tracer),
            operations: KINDS.map(|kind| Arc::new(histogram(kind.operation_duration()))),
            sessions: KINDS.map(|kind| histogram(kind.session_duration())),
            meter: meter.clone(),
            loads: Arc::default(),
            measures_loads: Once::new(),
        }
    }

    /// Makes the instruments of the loads, which are read when the program collects measurements.
    fn measure_loads(&self) {
        for (index, measurement) in self.loads.measurements().into_iter().enumerate() {
            let loads = Arc::clone(&self.loads);
            let value = move || loads.measurements()[index].value;
            let LoadMeasurement { name, description, unit, is_monotonic, .. } = measurement;
            if is_monotonic {
                let instrument = self.meter.u64_observable_counter(name).with_description(description).with_unit(unit);
                instrument.with_callback(move |observer| observer.observe(value(), &[])).build();
            } else {
                let instrument =
                    self.meter.i64_observable_up_down_counter(name).with_description(description).with_unit(unit);
                let value = move || i64::try_from(value()).unwrap_or(i64::MAX);
                instrument.with_callback(move |observer| observer.observe(value(), &[])).build();
            }
        }
    }
}

const KINDS: [OperationKind; 2] = [OperationKind::Server, OperationKind::Client];

impl Telemetry for OpenTelemetry {
    fn begin(&self, operation: OperationStart) -> Option<Arc<dyn OpenOperation>> {
        let OperationStart { kind, name, attributes, parent, began } = operation;
        let here = Context::current();
        let mut span = self
            .tracer
            .span_builder(name.clone())
            .with_kind(span_kind(kind))
            .with_start_time(SystemTime::UNIX_EPOCH + began)
            .with_attributes(attributes.iter().map(key_value));
        let within = match kind {
            OperationKind::Client => here,
            OperationKind::Server => {
                let within = global::get_text_map_propagator(|propagator| {
                    propagator.extract_with_context(&here, &Carrier(parent.clone()))
                });
                let (around, remote) = (here.span().span_context().clone(), within.span().span_context().clone());
                // The span of the HTTP request, say, that brought it.
                if around.is_valid() && around != remote {
                    span = span.with_links(vec![Link::with_context(around)]);
                }
                within
            }
        };
        let span = self.tracer.build_with_context(span, &within);
        Some(Arc::new(OpenSpan {
            tracer: Arc::clone(&self.tracer),
            kind,
            name,
            context: within.with_span(span),
            attributes,
            duration: Arc::clone(&self.operations[kind as usize]),
            began,
        }))
    }

    fn server_began(&self, load: Arc<ServerLoad>) {
        self.loads.add(load);
        self.measures_loads.call_once(|| self.measure_loads());
    }

    fn session_ended(&self, session: ObservedSession) {
        let attributes: Vec<_> = session.attributes.iter().map(key_value).collect();
        self.sessions[session.kind as usize].record(session.duration.as_secs_f64(), &attributes);
    }
}

const fn span_kind(kind: OperationKind) -> SpanKind {
    match kind {
        OperationKind::Server => SpanKind::Server,
        OperationKind::Client => SpanKind::Client,
    }
}

/// A span that is not over.
struct OpenSpan {
    tracer: Arc<BoxedTracer>,
    kind: OperationKind,
    name: String,
    context: Context,
    attributes: Vec<Attribute>,
    duration: Arc<Histogram<f64>>,
    began: Duration,
}

impl OpenSpan {
    /// Makes the span of a request of the operation, which is over.
    fn child(&self, request: &ObservedRequest, name: &str) {
        let (end, began) = (&request.end, SystemTime::UNIX_EPOCH + self.began + request.after);
        let span = self
            .tracer
            .span_builder(end.name.clone().unwrap_or_else(|| name.to_owned()))
            .with_kind(span_kind(self.kind))
            .with_start_time(began)
            .with_attributes(end.attributes_with(&self.attributes).map(key_value));
        let mut span = self.tracer.build_with_context(span, &self.context);
        if end.is_failure() {
            span.set_status(Status::error(end.error.clone().unwrap_or_default()));
        }
        span.end_with_timestamp(began + end.duration);
    }
}

impl OpenOperation for OpenSpan {
    fn context(&self) -> TraceContext {
        let mut carrier = Carrier::default();
        global::get_text_map_propagator(|propagator| propagator.inject_context(&self.context, &mut carrier));
        carrier.0
    }

    fn run(&self, work: &mut dyn FnMut()) {
        let _attached = self.context.clone().attach();
        work();
    }

    fn end(&self, end: OperationEnd) {
        let span = self.context.span();
        if let Some(name) = &end.name {
            span.update_name(name.clone());
        }
        for request in &end.requests {
            self.child(request, end.name.as_ref().unwrap_or(&self.name));
        }
        let is_new = |attribute: &&Attribute| !self.attributes.contains(attribute);
        span.set_attributes(end.attributes.iter().filter(is_new).map(key_value));
        if end.is_failure() {
            span.set_status(Status::error(end.error.clone().unwrap_or_default()));
        }
        span.end_with_timestamp(SystemTime::UNIX_EPOCH + self.began + end.duration);
        let attributes = end.attributes_with(&self.attributes).filter(|attribute| attribute.is_of_metrics());
        let attributes: Vec<_> = attributes.map(key_value).collect();
        // With its span around it, so that a measurement can have it as its example.
        let _attached = self.context.clone().attach();
        self.duration.record(end.duration.as_secs_f64(), &attributes);
    }
}

fn key_value(attribute: &Attribute) -> KeyValue {
    let value = match &attribute.value {
        AttributeValue::Text(text) => Value::from(text.clone()),
        AttributeValue::Integer(number) => Value::from(*number),
    };
    KeyValue::new(attribute.key, value)
}

/// The keys that may stand in `_meta`: those of the W3C.
#[derive(Default)]
struct Carrier(TraceContext);

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        self.0.set(key, value);
    }
}

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.members().map(|(key, _)| key).collect()
    }
}

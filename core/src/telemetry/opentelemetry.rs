//! Operations as spans and measurements of OpenTelemetry.

use super::{
    Attribute, AttributeValue, DURATION_BOUNDARIES, DurationMetric, ObservedSession, OpenOperation, OperationEnd,
    OperationKind, OperationStart, SCOPE, Telemetry,
};
use crate::protocol::TraceContext;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue, Value, global,
    global::BoxedTracer,
    metrics::{Histogram, Meter},
    propagation::{Extractor, Injector},
    trace::{Link, SpanKind, Status, TraceContextExt, Tracer},
};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

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
    tracer: BoxedTracer,
    operations: [Arc<Histogram<f64>>; 2],
    sessions: [Histogram<f64>; 2],
}

impl OpenTelemetry {
    /// With the global providers of the program as they are now. Servers and clients that are given
    /// nothing else do so when they are made: the program sets its providers before.
    pub fn global() -> Self {
        let scope = InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        Self::new(global::tracer_with_scope(scope.clone()), &global::meter_with_scope(scope))
    }

    /// With a tracer and a meter.
    pub fn new(tracer: BoxedTracer, meter: &Meter) -> Self {
        let histogram = |metric: DurationMetric| {
            let histogram = meter.f64_histogram(metric.name).with_description(metric.description).with_unit("s");
            histogram.with_boundaries(DURATION_BOUNDARIES.to_vec()).build()
        };
        Self {
            tracer,
            operations: KINDS.map(|kind| Arc::new(histogram(kind.operation_duration()))),
            sessions: KINDS.map(|kind| histogram(kind.session_duration())),
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
            .span_builder(name)
            .with_kind(match kind {
                OperationKind::Server => SpanKind::Server,
                OperationKind::Client => SpanKind::Client,
            })
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
            context: within.with_span(span),
            attributes,
            duration: Arc::clone(&self.operations[kind as usize]),
            began,
        }))
    }

    fn session_ended(&self, session: ObservedSession) {
        let attributes: Vec<_> = session.attributes.iter().map(key_value).collect();
        self.sessions[session.kind as usize].record(session.duration.as_secs_f64(), &attributes);
    }
}

/// A span that is not over.
struct OpenSpan {
    context: Context,
    attributes: Vec<Attribute>,
    duration: Arc<Histogram<f64>>,
    began: Duration,
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
        span.set_attributes(end.attributes.iter().map(key_value));
        if end.is_failure() {
            span.set_status(Status::error(end.error.clone().unwrap_or_default()));
        }
        span.end_with_timestamp(SystemTime::UNIX_EPOCH + self.began + end.duration);
        let attributes = self.attributes.iter().chain(&end.attributes).filter(|attribute| attribute.is_of_metrics());
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

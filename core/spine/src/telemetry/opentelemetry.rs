//! Reports operations as OpenTelemetry spans and metrics.

use super::{
    Attribute, AttributeValue, DURATION_BOUNDARIES, DurationMetric, LoadMeasurement, ObservedRequest, ObservedSession,
    OpenOperation, OperationEnd, OperationKind, OperationStart, SCOPE, ServerLoad, ServerLoads, Telemetry,
};
use crate::protocol::TraceContext;
use once_cell::race::OnceBox;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue, Value, global,
    global::BoxedTracer,
    metrics::{Histogram, Meter, MeterProvider},
    propagation::{Extractor, Injector, TextMapPropagator},
    trace::{
        Link, Span, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
        TraceState, Tracer,
    },
};
use std::{
    sync::{Arc, Once},
    time::SystemTime,
};

/// The servers that report to the global providers, summed up in one place, because each of them
/// has its own [`OpenTelemetry`] with instruments of the same names.
static PROCESS_LOADS: OnceBox<Arc<ServerLoads>> = OnceBox::new();

/// Returns whether the program has set a global provider or propagator. The API alone reports
/// nothing, but describing a request to it costs half as much as the request.
pub(super) fn is_set_up() -> bool {
    global::get_text_map_propagator(|propagator| is_propagator(propagator))
        || is_tracer(&global::tracer(SCOPE))
        || is_meter_provider(&*global::meter_provider())
}

/// Returns whether a propagator is more than the placeholder of the API, which has no fields.
fn is_propagator(propagator: &dyn TextMapPropagator) -> bool {
    propagator.fields().next().is_some()
}

/// The same for a tracer. The placeholder returns the parent of a span instead of a span. Others
/// create one, but in this context it is not recorded.
fn is_tracer(tracer: &impl Tracer) -> bool {
    let (trace, span) = (TraceId::from(1), SpanId::from(1));
    let parent = SpanContext::new(trace, span, TraceFlags::NOT_SAMPLED, true, TraceState::NONE);
    let context = Context::new().with_remote_span_context(parent.clone()).with_telemetry_suppressed();
    *tracer.build_with_context(SpanBuilder::from_name(SCOPE), &context).span_context() != parent
}

/// The same for a meter provider. Only the placeholder has no state.
fn is_meter_provider(provider: &dyn MeterProvider) -> bool {
    size_of_val(provider) > 0
}

/// Creates spans and metrics with the OpenTelemetry API (cargo feature `opentelemetry`). The global
/// propagator reads and writes the trace context, if it is a W3C one; without it, spans have no
/// remote parents.
///
/// ```
/// use std::sync::Arc;
/// use trunkline::{ServerOptions, telemetry::{OpenTelemetry, Telemetry}};
///
/// // The default if a global provider is set; `OpenTelemetry::new` takes a tracer and a meter.
/// let telemetry: Arc<dyn Telemetry> = Arc::new(OpenTelemetry::global());
/// let options = ServerOptions::default().with_telemetry_receiver(telemetry);
/// ```
pub struct OpenTelemetry {
    tracer: Arc<BoxedTracer>,
    operations: [Arc<Histogram<f64>>; 2],
    sessions: [Histogram<f64>; 2],
    meter: Meter,
    loads: Arc<ServerLoads>,
    /// Guards the creation of the load instruments, which happens with the first server.
    measures_loads: Once,
}

impl OpenTelemetry {
    /// Uses the current global providers. By default, servers and clients do so when they are
    /// created, if a provider or the propagator is set by then.
    pub fn global() -> Self {
        let scope = InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        let made = Self::new(global::tracer_with_scope(scope.clone()), &global::meter_with_scope(scope));
        Self { loads: Arc::clone(PROCESS_LOADS.get_or_init(Box::default)), ..made }
    }

    /// Uses a tracer and a meter. Use one value for all servers that report to the same meter.
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

    /// Creates the load instruments, which are read when metrics are collected.
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
    fn begin(&self, start: OperationStart) -> Option<Arc<dyn OpenOperation>> {
        let here = Context::current();
        let began = SystemTime::UNIX_EPOCH + start.began;
        let mut span = span(start.kind, start.name.clone(), began, &start.attributes);
        let within = match start.kind {
            OperationKind::Client => here,
            OperationKind::Server => {
                let within = global::get_text_map_propagator(|propagator| {
                    propagator.extract_with_context(&here, &Carrier(start.parent.clone()))
                });
                let (around, remote) = (here.span().span_context().clone(), within.span().span_context().clone());
                // For example the span of its HTTP request.
                if around.is_valid() && around != remote {
                    span = span.with_links(vec![Link::with_context(around)]);
                }
                within
            }
        };
        let span = self.tracer.build_with_context(span, &within);
        Some(Arc::new(OpenSpan {
            tracer: Arc::clone(&self.tracer),
            context: within.with_span(span),
            duration: Arc::clone(&self.operations[start.kind as usize]),
            start,
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

fn span<'a>(
    kind: OperationKind,
    name: String,
    began: SystemTime,
    attributes: impl IntoIterator<Item = &'a Attribute>,
) -> SpanBuilder {
    let kind = match kind {
        OperationKind::Server => SpanKind::Server,
        OperationKind::Client => SpanKind::Client,
    };
    let attributes = attributes.into_iter().map(key_value);
    SpanBuilder::from_name(name).with_kind(kind).with_start_time(began).with_attributes(attributes)
}

/// A span in progress.
struct OpenSpan {
    tracer: Arc<BoxedTracer>,
    start: OperationStart,
    context: Context,
    duration: Arc<Histogram<f64>>,
}

impl OpenSpan {
    /// Creates the span of a finished request of the operation.
    fn child(&self, request: &ObservedRequest, name: &str) {
        let (end, began) = (&request.end, SystemTime::UNIX_EPOCH + self.start.began + request.after);
        let name = end.name.clone().unwrap_or_else(|| name.to_owned());
        let span = span(self.start.kind, name, began, end.attributes_with(&self.start.attributes));
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
            self.child(request, end.name.as_ref().unwrap_or(&self.start.name));
        }
        let is_new = |attribute: &&Attribute| !self.start.attributes.contains(attribute);
        span.set_attributes(end.attributes.iter().filter(is_new).map(key_value));
        if end.is_failure() {
            span.set_status(Status::error(end.error.clone().unwrap_or_default()));
        }
        span.end_with_timestamp(SystemTime::UNIX_EPOCH + self.start.began + end.duration);
        let attributes: Vec<_> = end.metric_attributes_with(&self.start.attributes).map(key_value).collect();
        // Recorded within the span, so that it can be the exemplar of a measurement.
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

/// The keys allowed in `_meta`: those of the W3C.
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

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::{
        metrics::NoopMeterProvider,
        trace::{
            TracerProvider,
            noop::{NoopTextMapPropagator, NoopTracerProvider},
        },
    };
    use opentelemetry_sdk::{
        metrics::SdkMeterProvider,
        propagation::TraceContextPropagator,
        trace::{InMemorySpanExporter, Sampler, SdkTracerProvider},
    };

    #[test]
    fn the_api_alone_is_no_receiver() {
        assert!(!is_propagator(&NoopTextMapPropagator::new()));
        assert!(!is_tracer(&NoopTracerProvider::new().tracer("test")));
        assert!(!is_meter_provider(&NoopMeterProvider::new()));
    }

    #[test]
    fn an_sdk_is_a_receiver_and_gets_no_span_by_being_found() {
        assert!(is_propagator(&TraceContextPropagator::new()));
        assert!(is_meter_provider(&SdkMeterProvider::builder().build()));
        for sampler in [Sampler::AlwaysOn, Sampler::AlwaysOff, Sampler::ParentBased(Box::new(Sampler::AlwaysOn))] {
            let spans = InMemorySpanExporter::default();
            let exporting = SdkTracerProvider::builder().with_simple_exporter(spans.clone());
            let provider = exporting.with_sampler(sampler).build();
            assert!(is_tracer(&provider.tracer("test")));
            assert!(spans.get_finished_spans().unwrap().is_empty());
        }
    }
}

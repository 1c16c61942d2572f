//! Spans, measurements and trace contexts, with the SDK of OpenTelemetry.

use bytes::Bytes;
use opentelemetry::{
    Context as Surroundings, KeyValue, Value,
    global::{self, BoxedTracer},
    metrics::MeterProvider,
    trace::{FutureExt, SpanId, SpanKind, Status, TraceContextExt, TraceId, Tracer, TracerProvider},
};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, SdkMeterProvider,
        data::{AggregatedMetrics, Metric, MetricData},
    },
    propagation::TraceContextPropagator,
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::{
    Mutex as AsyncMutex, Semaphore,
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use trunkline::{
    Client, ClientOptions, Context, Limits, ProxyDefinition, Revision, RevisionChoice, Server, ServerOptions,
    client::{ElicitRequest, HandlerError, LinkFailure},
    protocol::{
        TraceContext,
        model::{ElicitParams, ElicitResult, FormSchema},
    },
    server::{CallError, MiddlewareDefinition, Next, ServerBuilder, ToolError},
    telemetry::{DURATION_BOUNDARIES, OpenTelemetry, Telemetry},
    transport::{Channel, ChannelConnector, Target},
};

/// The spans and measurements of one test.
struct Recorded {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Recorded {
    fn new() -> Self {
        global::set_text_map_propagator(TraceContextPropagator::new());
        let (spans, metrics) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
        let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics.clone()).build();
        Self { spans, metrics, tracers, meters }
    }

    fn tracer(&self) -> BoxedTracer {
        BoxedTracer::new(Box::new(self.tracers.tracer("test")))
    }

    fn telemetry(&self) -> Arc<dyn Telemetry> {
        Arc::new(OpenTelemetry::new(self.tracer(), &self.meters.meter("test")))
    }

    /// A server whose tools begin spans of their own.
    fn server(&self, name: &str) -> ServerBuilder {
        let tracer = Arc::new(self.tracer());
        let inside = move || {
            let tracer = Arc::clone(&tracer);
            async move {
                tokio::task::yield_now().await;
                drop(tracer.start("inside"));
            }
        };
        Server::builder(name, "1")
            .options(ServerOptions::default().with_telemetry_receiver(self.telemetry()))
            .tool("work", "Works.", move || {
                let inside = inside();
                async move {
                    inside.await;
                    "done"
                }
            })
            .tool("fail", "Fails.", async || Err::<String, CallError>(ToolError::new("no").into()))
            .resource("a://b", "b", async || "text")
            .tool("ask", "Asks.", async |ctx: Context| {
                let answer = ctx.elicit(ElicitParams::form("Sure?", FormSchema::new())).await?;
                trunkline::Ok(answer.action.as_str().to_owned())
            })
    }

    async fn client(&self, target: impl Into<Target>, revision: Revision) -> Client {
        let tracer = Arc::new(self.tracer());
        let options = ClientOptions::default()
            .with_telemetry_receiver(self.telemetry())
            .with_revision(RevisionChoice::Pinned(revision));
        let client = Client::builder().options(options).on_elicit(move |_: ElicitRequest| {
            let tracer = Arc::clone(&tracer);
            async move {
                tokio::task::yield_now().await;
                drop(tracer.start("answering"));
                Ok::<_, HandlerError>(ElicitResult::decline())
            }
        });
        client.connect(target).await.unwrap()
    }

    fn finished(&self) -> Vec<SpanData> {
        self.spans.get_finished_spans().unwrap()
    }

    /// The only span of a name and kind in a trace.
    fn span(&self, trace: TraceId, name: &str, kind: &SpanKind) -> SpanData {
        let all = self.finished();
        let of =
            |span: &&SpanData| span.span_context.trace_id() == trace && span.name == name && span.span_kind == *kind;
        let found: Vec<_> = all.iter().filter(of).collect();
        let [one] = found[..] else {
            {
                let names: Vec<_> = all.iter().map(|span| (span.span_context.trace_id(), &span.name)).collect();
                panic!("{} of {name} {kind:?} in {trace}: {names:#?}", found.len())
            }
        };
        one.clone()
    }

    /// Runs something within a span of a user.
    async fn within<T>(&self, work: impl Future<Output = T>) -> (T, TraceId, SpanId) {
        let around = Surroundings::new().with_span(self.tracer().start_with_context("user", &Surroundings::new()));
        let span = around.span().span_context().clone();
        (work.with_context(around).await, span.trace_id(), span.span_id())
    }
}

fn value(attributes: &[KeyValue], key: &str) -> Option<Value> {
    attributes.iter().find(|attribute| attribute.key.as_str() == key).map(|attribute| attribute.value.clone())
}

fn assert_attributes(span: &SpanData, expected: &[(&str, &str)]) {
    for (key, text) in expected {
        assert_eq!(value(&span.attributes, key), Some(Value::from((*text).to_owned())), "{key} of {span:#?}");
    }
}

#[tokio::test]
async fn rpc_38_a_trace_leads_from_the_user_to_spans_of_the_handler_in_every_era_over_every_transport() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let recorded = Recorded::new();
        let server = recorded.server("spans").build();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let url = listener.url().unwrap();
        let in_memory = recorded.client(&server, revision).await;
        let over_http = recorded.client(url.as_str(), revision).await;
        for (client, is_http) in [(&in_memory, false), (&over_http, true)] {
            let call = || recorded.within(async { client.call_tool("work", json!({})).await.unwrap() });
            // Two users at once.
            let ((_, one, parent), (_, two, _)) = tokio::join!(call(), call());
            assert_ne!(one, two);
            recorded.span(two, "inside", &SpanKind::Internal);
            let sent = recorded.span(one, "tools/call work", &SpanKind::Client);
            let served = recorded.span(one, "tools/call work", &SpanKind::Server);
            let inside = recorded.span(one, "inside", &SpanKind::Internal);
            assert_eq!(sent.parent_span_id, parent);
            assert_eq!(served.parent_span_id, sent.span_context.span_id());
            assert!(served.parent_span_is_remote);
            assert_eq!(inside.parent_span_id, served.span_context.span_id());
            for span in [&sent, &served] {
                assert_attributes(
                    span,
                    &[
                        ("mcp.method.name", "tools/call"),
                        ("gen_ai.tool.name", "work"),
                        ("gen_ai.operation.name", "execute_tool"),
                        ("mcp.protocol.version", revision.as_str()),
                    ],
                );
                assert_eq!(span.status, Status::Unset);
                let network = is_http.then(|| Value::from("tcp"));
                assert_eq!(value(&span.attributes, "network.transport"), network);
                let has_session = is_http && revision == Revision::V2025_11_25;
                assert_eq!(value(&span.attributes, "mcp.session.id").is_some(), has_session, "{span:#?}");
            }
            let ids = [&sent, &served].map(|span| value(&span.attributes, "jsonrpc.request.id"));
            assert!(ids[0].is_some() && ids[0] == ids[1], "{ids:?}");
            if is_http {
                assert_attributes(&served, &[("network.protocol.name", "http"), ("network.protocol.version", "1.1")]);
                assert_attributes(&served, &[("client.address", "127.0.0.1")]);
                assert_attributes(&sent, &[("server.address", "127.0.0.1")]);
                let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()?.parse::<i64>().ok());
                assert_eq!(value(&sent.attributes, "server.port"), port.map(Value::from));
            }
        }
        drop((in_memory, over_http));
    }
}

#[tokio::test]
async fn failures_are_failures_of_spans_by_their_kind() {
    let recorded = Recorded::new();
    let server = recorded.server("failures").build();
    let client = recorded.client(&server, Revision::LATEST).await;
    let (_, failed, _) = recorded.within(async { client.call_tool("fail", json!({})).await.unwrap() }).await;
    let (_, unknown, _) = recorded.within(async { client.call_tool("nothing", json!({})).await.unwrap_err() }).await;
    let (_, read, _) = recorded.within(async { client.read_resource("a://b").await.unwrap() }).await;
    for kind in [SpanKind::Client, SpanKind::Server] {
        let span = recorded.span(failed, "tools/call fail", &kind);
        assert_attributes(&span, &[("error.type", "tool_error")]);
        assert!(matches!(span.status, Status::Error { .. }), "{span:#?}");
        let span = recorded.span(unknown, "tools/call nothing", &kind);
        assert_attributes(&span, &[("error.type", "-32602"), ("rpc.response.status_code", "-32602")]);
        let Status::Error { description } = &span.status else { panic!("{span:#?}") };
        assert!(description.contains("nothing"), "{description}");
        let span = recorded.span(read, "resources/read", &kind);
        assert_attributes(&span, &[("mcp.resource.uri", "a://b")]);
        assert_eq!((span.status, value(&span.attributes, "error.type")), (Status::Unset, None));
    }
}

#[tokio::test]
async fn requests_of_a_server_carry_the_trace_to_its_client() {
    let recorded = Recorded::new();
    let server = recorded.server("asking").build();
    let client = recorded.client(&server, Revision::V2025_11_25).await;
    let (_, trace, _) = recorded.within(async { client.call_tool("ask", json!({})).await.unwrap() }).await;
    let call = recorded.span(trace, "tools/call ask", &SpanKind::Server);
    let asked = recorded.span(trace, "elicitation/create", &SpanKind::Client);
    let answered = recorded.span(trace, "elicitation/create", &SpanKind::Server);
    let answering = recorded.span(trace, "answering", &SpanKind::Internal);
    assert_eq!(asked.parent_span_id, call.span_context.span_id());
    assert_eq!(answered.parent_span_id, asked.span_context.span_id());
    assert_eq!(answering.parent_span_id, answered.span_context.span_id());
}

/// A server of the legacy era, which does not know `server/discover`. It keeps what it was sent.
#[derive(Clone)]
struct Legacy {
    sent: Arc<Mutex<Vec<serde_json::Value>>>,
    to_client: UnboundedSender<Bytes>,
    from_server: Arc<AsyncMutex<UnboundedReceiver<Bytes>>>,
}

impl Legacy {
    fn new() -> Self {
        let (to_client, from_server) = unbounded_channel();
        Self { sent: Arc::default(), to_client, from_server: Arc::new(AsyncMutex::new(from_server)) }
    }

    /// The id of the span in the trace context of the messages of a method.
    fn parents_of(&self, method: &str) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        let of_method = sent.iter().filter(|message| message["method"] == method);
        let parent =
            |message: &serde_json::Value| message["params"]["_meta"]["traceparent"].as_str().map(str::to_owned);
        let span =
            |context: Option<String>| context.unwrap_or_default().split('-').nth(2).unwrap_or_default().to_owned();
        of_method.map(parent).map(span).collect()
    }
}

impl Channel for Legacy {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message: serde_json::Value = serde_json::from_slice(&message).unwrap();
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}}),
            _ => json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}),
        };
        if !message["id"].is_null() {
            self.to_client.send(answer.to_string().into()).unwrap();
        }
        self.sent.lock().unwrap().push(message);
        Ok(())
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        Ok(self.from_server.lock().await.recv().await)
    }

    async fn close(&self) {}
}

/// The id of a span in hexadecimal digits.
fn id_of(span: &SpanData) -> String {
    span.span_context.span_id().to_string()
}

#[tokio::test]
async fn rpc_38_an_opening_is_one_span_and_its_requests_are_below_it() {
    let (recorded, server) = (Recorded::new(), Legacy::new());
    let options = ClientOptions::default().with_telemetry_receiver(recorded.telemetry());
    let connector = ChannelConnector::new({
        let server = server.clone();
        move || std::future::ready(Ok(server.clone()))
    });
    let opening = Client::connect_with(connector, options, ());
    let (client, trace, user) = recorded.within(async { opening.await.unwrap() }).await;
    let spans: Vec<_> = recorded.finished().into_iter().filter(|span| span.name != "user").collect();
    let opening = spans.iter().find(|span| span.parent_span_id == user).unwrap();
    assert_eq!((&*opening.name, &opening.span_kind), ("initialize", &SpanKind::Client));
    assert_attributes(opening, &[("mcp.method.name", "initialize"), ("mcp.protocol.version", "2025-11-25")]);
    assert_eq!((opening.span_context.trace_id(), &opening.status), (trace, &Status::Unset));
    let below: Vec<_> = spans.iter().filter(|span| span.parent_span_id == opening.span_context.span_id()).collect();
    let [refused, opened] = below[..] else { panic!("{below:#?}") };
    assert_eq!((&*refused.name, &*opened.name), ("server/discover", "initialize"));
    assert_attributes(refused, &[("mcp.method.name", "server/discover"), ("error.type", "-32601")]);
    assert!(opened.status == Status::Unset && opened.start_time >= refused.end_time, "{below:#?}");
    assert_eq!(
        value(&opening.attributes, "jsonrpc.request.id"),
        value(&opened.attributes, "jsonrpc.request.id"),
        "that of the request that opened it"
    );
    for method in ["server/discover", "initialize"] {
        assert_eq!(server.parents_of(method), [id_of(opening)]);
    }

    let noted = async { client.notify("com.acme/changed", None) };
    let (noted, trace, user) = recorded.within(noted).await;
    noted.unwrap();
    let span = recorded.span(trace, "com.acme/changed", &SpanKind::Client);
    assert_eq!(span.parent_span_id, user);
    assert_attributes(&span, &[("mcp.method.name", "com.acme/changed"), ("mcp.protocol.version", "2025-11-25")]);
    assert_eq!(value(&span.attributes, "jsonrpc.request.id"), None);
    client.ping().await.unwrap_err();
    assert_eq!(server.parents_of("com.acme/changed"), [id_of(&span)]);

    recorded.meters.force_flush().unwrap();
    let metrics = recorded.metrics.get_finished_metrics().unwrap();
    let all = metrics.iter().flat_map(|all| all.scope_metrics()).flat_map(|scope| scope.metrics());
    let durations = all.filter(|metric| metric.name() == "mcp.client.operation.duration").map(|metric| {
        let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else { panic!("{metric:?}") };
        let method = |attributes: &[KeyValue]| value(attributes, "mcp.method.name").unwrap().to_string();
        let point = |point: &opentelemetry_sdk::metrics::data::HistogramDataPoint<f64>| {
            (method(&point.attributes().cloned().collect::<Vec<_>>()), point.count())
        };
        histogram.data_points().map(point).collect::<Vec<_>>()
    });
    let mut durations: Vec<_> = durations.flatten().collect();
    durations.sort();
    let once = ["com.acme/changed", "initialize", "ping"].map(|method| (method.to_owned(), 1));
    assert_eq!(durations, once, "an opening is measured once");
}

#[tokio::test]
async fn openings_of_every_era_are_above_the_spans_of_their_server() {
    let recorded = Recorded::new();
    let server = recorded.server("opened").build();
    for (revision, method) in [(Revision::V2025_11_25, "initialize"), (Revision::V2026_07_28, "server/discover")] {
        let (client, trace, user) = recorded.within(recorded.client(&server, revision)).await;
        // Of a pinned revision, the description comes after the connection is open.
        let described = async {
            while client.server_info().is_none() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), described).await.expect("no description");
        let sent = recorded.span(trace, method, &SpanKind::Client);
        let served = recorded.span(trace, method, &SpanKind::Server);
        assert_eq!((sent.parent_span_id, served.parent_span_id), (user, sent.span_context.span_id()));
    }
    let options = ClientOptions::default().with_telemetry_receiver(recorded.telemetry());
    let refused = Client::connect_with("http://127.0.0.1:9/mcp", options, ());
    let (failed, trace, _) = recorded.within(async { refused.await.err().unwrap() }).await;
    let span = recorded.span(trace, "server/discover", &SpanKind::Client);
    assert!(matches!(&span.status, Status::Error { .. }), "{span:#?}");
    assert_attributes(&span, &[("error.type", failed.kind().as_str()), ("server.address", "127.0.0.1")]);
}

#[tokio::test]
async fn each_round_of_a_call_is_below_its_span() {
    let recorded = Recorded::new();
    let server = recorded.server("rounds").build();
    let client = recorded.client(&server, Revision::V2026_07_28).await;
    let (_, trace, user) = recorded.within(async { client.call_tool("ask", json!({})).await.unwrap() }).await;
    let all = recorded.finished();
    let of_call = |span: &&SpanData| span.span_context.trace_id() == trace && span.name == "tools/call ask";
    let calls: Vec<_> = all.iter().filter(of_call).collect();
    let call = calls.iter().find(|span| span.parent_span_id == user).unwrap();
    let below = |kind: SpanKind| -> Vec<_> {
        let is_below = |span: &&&SpanData| span.parent_span_id == call.span_context.span_id() && span.span_kind == kind;
        calls.iter().filter(is_below).map(|span| value(&span.attributes, "jsonrpc.request.id").unwrap()).collect()
    };
    let (sent, served) = (below(SpanKind::Client), below(SpanKind::Server));
    assert_eq!((sent.len(), &sent), (2, &served), "{calls:#?}");
    assert_ne!(sent[0], sent[1]);
    assert_eq!(calls.len(), 5);
    assert_eq!(value(&call.attributes, "jsonrpc.request.id").as_ref(), Some(&sent[0]));
}

#[tokio::test]
async fn a_gateway_continues_the_trace_and_middleware_is_within_it() {
    let recorded = Recorded::new();
    let behind = recorded.server("behind").build();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let to_behind = recorded.client(&behind, revision).await;
        let tracer = Arc::new(recorded.tracer());
        let middleware = MiddlewareDefinition::from_fn(move |_: Context, next: Next| {
            let around = Surroundings::current().with_span(tracer.start("middleware"));
            async move { Ok(next.run().await?) }.with_context(around)
        });
        let options = ServerOptions::default().with_telemetry_receiver(recorded.telemetry());
        let gateway = Server::builder("gateway", "1").options(options);
        let gateway = gateway.add_middleware(middleware.methods(["tools/call"])).build();
        gateway.proxy(ProxyDefinition::new(&to_behind)).unwrap();
        let client = recorded.client(&gateway, Revision::LATEST).await;
        let (_, trace, _) = recorded.within(async { client.call_tool("work", json!({})).await.unwrap() }).await;
        let all = recorded.finished();
        let mut at = recorded.span(trace, "inside", &SpanKind::Internal);
        let mut path = vec![format!("{:?} {}", at.span_kind, at.name)];
        while let Some(parent) = all.iter().find(|span| span.span_context.span_id() == at.parent_span_id) {
            path.push(format!("{:?} {}", parent.span_kind, parent.name));
            at = parent.clone();
        }
        let expected = [
            "Internal inside",
            "Server tools/call work",
            "Client tools/call work",
            "Internal middleware",
            "Server tools/call work",
            "Client tools/call work",
            "Internal user",
        ];
        assert_eq!(path, expected, "{revision}");
    }
}

#[tokio::test]
async fn the_load_of_all_servers_is_measured_when_measurements_are_collected() {
    let recorded = Recorded::new();
    let telemetry = recorded.telemetry();
    let (gate, held) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let server = |name: &str| {
        let (gate, held) = (Arc::clone(&gate), Arc::clone(&held));
        let options = ServerOptions::default().with_telemetry_receiver(Arc::clone(&telemetry));
        let options = options.with_limits(Limits::default().with_max_running(2));
        let hold = move || {
            let (gate, held) = (Arc::clone(&gate), Arc::clone(&held));
            async move {
                held.add_permits(1);
                gate.acquire().await.unwrap().forget();
                "done"
            }
        };
        Server::builder(name, "1").options(options).tool("hold", "Holds its place.", hold).build()
    };
    let (one, other) = (server("one"), server("other"));
    let legacy = recorded.client(&one, Revision::V2025_11_25).await;
    let second = recorded.client(&other, Revision::V2025_11_25).await;
    let modern = recorded.client(&other, Revision::V2026_07_28).await;
    let loads = || {
        recorded.meters.force_flush().unwrap();
        let collected = recorded.metrics.get_finished_metrics().unwrap();
        let all = collected.last().unwrap().scope_metrics().flat_map(|scope| scope.metrics());
        let mut values: Vec<_> = all.filter_map(load_of).collect();
        values.sort_unstable();
        values
    };
    let expected = |running, sessions, waiting| {
        let all = [("running_calls", running), ("sessions", sessions), ("store_errors", 0), ("waiting_calls", waiting)];
        all.map(|(name, value)| (format!("trunkline.server.{name}"), value)).to_vec()
    };
    assert_eq!(loads(), expected(0, 2, 0));
    let call = |client: &Client| {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool("hold", json!({})).await.unwrap() })
    };
    let calls = [call(&legacy), call(&legacy), call(&legacy), call(&modern)];
    held.acquire_many(3).await.unwrap().forget();
    let waiting = async {
        while one.load().waiting_calls() != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("no call waits");
    assert_eq!(loads(), expected(3, 2, 1));
    gate.add_permits(4);
    for call in calls {
        call.await.unwrap();
    }
    second.close().await;
    assert_eq!((one.load().running_calls(), other.load().running_calls()), (0, 0));
    drop((other, second, modern));
    let alone = async {
        while loads() != expected(0, 1, 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), alone).await.expect("a session is left");
}

/// The name and value of an instrument of the load of servers.
fn load_of(metric: &Metric) -> Option<(String, u64)> {
    let name = metric.name().to_owned();
    let value = match metric.data() {
        AggregatedMetrics::U64(MetricData::Sum(sum)) => sum.data_points().next()?.value(),
        AggregatedMetrics::I64(MetricData::Sum(sum)) => u64::try_from(sum.data_points().next()?.value()).unwrap(),
        _ => return None,
    };
    name.starts_with("trunkline.server.").then_some((name, value))
}

#[tokio::test]
async fn durations_are_measured_in_the_buckets_of_the_conventions() {
    let recorded = Recorded::new();
    let server = recorded.server("measured").build();
    let client = recorded.client(&server, Revision::V2025_11_25).await;
    client.call_tool("work", json!({})).await.unwrap();
    client.call_tool("fail", json!({})).await.unwrap();
    for name in ["some name", "another name"] {
        client.call_tool(name, json!({})).await.unwrap_err();
    }
    client.read_resource("a://b").await.unwrap();
    client.close().await;
    recorded.meters.force_flush().unwrap();
    let metrics = recorded.metrics.get_finished_metrics().unwrap();
    let all: Vec<_> = metrics.iter().flat_map(|all| all.scope_metrics()).flat_map(|scope| scope.metrics()).collect();
    for side in ["server", "client"] {
        let points = |name: &str| {
            let metric = all.iter().find(|metric| metric.name() == format!("mcp.{side}.{name}.duration"));
            let metric = metric.unwrap_or_else(|| panic!("no {side} {name}: {all:#?}"));
            assert_eq!(metric.unit(), "s");
            let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else { panic!("{metric:?}") };
            let point = |point: &opentelemetry_sdk::metrics::data::HistogramDataPoint<f64>| {
                assert_eq!(point.bounds().collect::<Vec<_>>(), DURATION_BOUNDARIES);
                (point.count(), point.attributes().cloned().collect::<Vec<_>>())
            };
            histogram.data_points().map(point).collect::<Vec<_>>()
        };
        let operations = points("operation");
        let of = |key: &str, text: &'static str| {
            let has = |(_, attributes): &&(u64, Vec<KeyValue>)| value(attributes, key) == Some(Value::from(text));
            operations.iter().find(has).unwrap_or_else(|| panic!("{key} {text}: {operations:#?}"))
        };
        let (count, attributes) = of("gen_ai.tool.name", "work");
        assert_eq!((*count, value(attributes, "error.type")), (1, None));
        assert_eq!(value(&of("gen_ai.tool.name", "fail").1, "error.type"), Some(Value::from("tool_error")));
        let (count, attributes) = of("error.type", "-32602");
        assert_eq!((*count, value(attributes, "gen_ai.tool.name")), (2, None), "too many values");
        let (_, attributes) = of("mcp.method.name", "resources/read");
        for key in ["mcp.resource.uri", "jsonrpc.request.id", "mcp.session.id"] {
            assert_eq!(value(attributes, key), None, "too many values");
        }
        let sessions = points("session");
        assert_eq!(sessions.len(), 1);
        assert_eq!(value(&sessions[0].1, "mcp.protocol.version"), Some(Value::from("2025-11-25")));
    }
}

#[tokio::test]
async fn without_telemetry_there_are_no_spans_and_what_came_is_passed_as_it_is() {
    let recorded = Recorded::new();
    let seen = |ctx: Context| async move { format!("{:?}", TraceContext::of_meta(ctx.meta().unwrap()).traceparent) };
    let options = ServerOptions::default().with_telemetry_receiver(recorded.telemetry()).with_telemetry(false);
    let server = Server::builder("off", "1").options(options).tool("seen", "Shows.", seen).build();
    let options = ClientOptions::default().with_telemetry_receiver(recorded.telemetry()).with_telemetry(false);
    let client = Client::builder().options(options).connect(&server).await.unwrap();
    let (result, _, _) = recorded.within(async { client.call_tool("seen", json!({})).await.unwrap() }).await;
    assert_eq!(result.content[0].as_text(), Some("None"));
    assert!(recorded.finished().iter().all(|span| span.name == "user"));
}

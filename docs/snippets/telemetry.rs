// The spans of a call in OpenTelemetry, with the cargo feature `opentelemetry` of `trunkline`.
use opentelemetry::{KeyValue, global, trace::get_active_span};
use opentelemetry_sdk::{
    propagation::TraceContextPropagator,
    trace::{InMemorySpanExporter, SdkTracerProvider},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use trunkline::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
}

async fn greet(Params(Greeting { name }): Params<Greeting>) -> String {
    // The handler runs within the span of its request; spans started here are its children.
    get_active_span(|span| span.set_attribute(KeyValue::new("greeter.name", name.clone())));
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Set up before creating servers and clients, with the exporter of your choice.
    let spans = InMemorySpanExporter::default();
    global::set_tracer_provider(SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build());
    global::set_text_map_propagator(TraceContextPropagator::new());

    let server = Server::builder("greeter", "1.0.0").tool("greet", "Greet someone.", greet).build();
    let client = Client::connect(&server).await?;
    client.call_tool("greet", json!({"name": "Ada"})).await?;
    client.close().await;

    // The span of the server may end after the call.
    while spans.get_finished_spans()?.len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let spans = spans.get_finished_spans()?;
    let mut lines: Vec<_> =
        spans.iter().map(|span| format!("{} {}", format!("{:?}", span.span_kind).to_lowercase(), span.name)).collect();
    lines.sort();
    println!("{}", lines.join("\n"));
    Ok(())
}

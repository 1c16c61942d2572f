// The spans of a call in OpenTelemetry.
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Client, Server } from "trunkline";
import { z } from "zod";

// Set up as by `NodeSDK` of @opentelemetry/sdk-node, with the exporter of your choice.
const spans = new InMemorySpanExporter();
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));

const server = new Server({ name: "greeter", version: "1.0.0" });

server.registerTool("greet", { description: "Greet someone.", inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
  // The handler runs within the span of its request; spans started here are its children.
  trace.getActiveSpan()?.setAttribute("greeter.name", name);
  return `Hello, ${name}!`;
});

const client = await Client.connect(server);
await client.callTool("greet", { name: "Ada" });
await client.close();
await server.close();
const lines = spans.getFinishedSpans().map(({ kind, name }) => `${SpanKind[kind].toLowerCase()} ${name}`);
for (const line of lines.sort()) console.log(line);

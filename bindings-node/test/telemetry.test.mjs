// Spans, measurements and trace contexts, with the SDK of OpenTelemetry.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { after, before, beforeEach, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { context, metrics, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

import { Client, Server, ToolError } from "trunkline";

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })] });
let tracer;
let server;

before(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(meters);
  tracer = trace.getTracer("test");
  server = new Server({ name: "spans", version: "1" });
  const inside = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    tracer.startSpan("inside").end();
  };
  server.registerTool("work", {}, async () => {
    await inside();
    return "done";
  });
  server.registerTool("fail", {}, () => {
    throw new ToolError("no");
  });
  server.registerTool("ask", {}, async (_, ctx) => (await ctx.elicit("Sure?", { type: "object", properties: {} })).action);
  server.use("tools/call", (_, next) => tracer.startActiveSpan("middleware", (span) => next().finally(() => span.end())));
});

after(async () => {
  await server.close();
  await meters.shutdown();
});

beforeEach(() => {
  spans.reset();
});

/** Runs something within a span of a user; gives its context. */
async function within(run) {
  const span = tracer.startSpan("user", {}, ROOT_CONTEXT);
  await context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  span.end();
  return span.spanContext();
}

/** The only span of a name and kind in a trace. */
function spanOf({ traceId }, name, kind) {
  const all = spans.getFinishedSpans();
  const found = all.filter((span) => span.spanContext().traceId === traceId && span.name === name && span.kind === kind);
  assert.equal(found.length, 1, `${name}: ${all.map((span) => `${span.name} ${span.kind}`).join(", ")}`);
  return found[0];
}

/**
 * Resolves once the core has reported what is served: that may be after the reply. What clients ask
 * for is served here.
 */
async function reported(isReported = () => countOf(SpanKind.SERVER) >= countOf(SpanKind.CLIENT)) {
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  await sleep(20);
  for (const end = Date.now() + 10_000; !isReported() && Date.now() < end; ) await sleep(5);
}

const countOf = (kind) => spans.getFinishedSpans().filter((span) => span.kind === kind).length;
const parentOf = (span) => span.parentSpanContext?.spanId;
const idOf = (span) => span.spanContext().spanId;

for (const revision of ["2025-11-25", "2026-07-28"]) {
  test(`rpc_38_a_trace_leads_from_the_user_to_spans_of_the_handler_${revision}`, async () => {
    const listener = await server.listen({ port: 0 });
    try {
      for (const [target, isHttp] of [
        [server, false],
        [listener.url, true],
      ]) {
        spans.reset();
        const client = await Client.connect(target, { revision });
        const [one, two] = await Promise.all([within(() => client.callTool("work")), within(() => client.callTool("work"))]);
        await reported();
        assert.notEqual(one.traceId, two.traceId);
        spanOf(two, "inside", SpanKind.INTERNAL);
        const [sent, served] = [spanOf(one, "tools/call work", SpanKind.CLIENT), spanOf(one, "tools/call work", SpanKind.SERVER)];
        const [middleware, inner] = [spanOf(one, "middleware", SpanKind.INTERNAL), spanOf(one, "inside", SpanKind.INTERNAL)];
        assert.deepEqual([sent, served, middleware, inner].map(parentOf), [one.spanId, idOf(sent), idOf(served), idOf(middleware)]);
        for (const { attributes, status } of [sent, served]) {
          assert.equal(attributes["mcp.method.name"], "tools/call");
          assert.equal(attributes["gen_ai.tool.name"], "work");
          assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
          assert.equal(attributes["mcp.protocol.version"], revision);
          assert.equal(attributes["network.transport"], isHttp ? "tcp" : undefined);
          assert.equal(attributes["jsonrpc.request.id"], sent.attributes["jsonrpc.request.id"]);
          assert.equal(status.code, SpanStatusCode.UNSET);
        }
        if (isHttp) assert.equal(sent.attributes["server.port"], listener.port);
        await client.close();
      }
    } finally {
      await listener.close();
    }
  });
}

test("failed_spans_record_what_the_handler_threw", async () => {
  const client = await Client.connect(server);
  const failed = await within(() => client.callTool("fail"));
  const unknown = await within(() => assert.rejects(client.callTool("nothing")));
  const listed = await within(() => client.listTools());
  await reported();
  for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
    const tool = spanOf(failed, "tools/call fail", kind);
    assert.equal(tool.attributes["error.type"], "tool_error");
    assert.equal(tool.status.code, SpanStatusCode.ERROR);
    const refused = spanOf(unknown, "tools/call nothing", kind);
    assert.equal(refused.attributes["error.type"], "-32602");
    assert.equal(refused.attributes["rpc.response.status_code"], "-32602");
    assert.match(refused.status.message, /nothing/u);
    // Without a function of the program, too.
    assert.equal(spanOf(listed, "tools/list", kind).status.code, SpanStatusCode.UNSET);
  }
  const { events } = spanOf(failed, "tools/call fail", SpanKind.SERVER);
  assert.equal(events[0].attributes["exception.message"], "no");
  await client.close();
});

test("requests_to_the_client_carry_the_trace", async () => {
  const onElicit = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    tracer.startSpan("answering").end();
    return { action: "decline" };
  };
  const client = await Client.connect(server, { revision: "2025-11-25", onElicit });
  const user = await within(() => client.callTool("ask"));
  await reported();
  const asked = spanOf(user, "elicitation/create", SpanKind.CLIENT);
  const answered = spanOf(user, "elicitation/create", SpanKind.SERVER);
  assert.equal(parentOf(asked), idOf(spanOf(user, "middleware", SpanKind.INTERNAL)));
  assert.equal(parentOf(answered), idOf(asked));
  assert.equal(parentOf(spanOf(user, "answering", SpanKind.INTERNAL)), idOf(answered));
  await client.close();
});

/** A transport to a legacy server that records what it receives. */
class Legacy {
  sent = [];
  #answers = [];
  #wake = () => undefined;

  connect() {}

  send(message) {
    const sent = JSON.parse(message);
    this.sent.push(sent);
    const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "legacy", version: "1" } };
    const answer = sent.method === "initialize" ? { result } : { error: { code: -32601, message: "?" } };
    if (sent.id !== undefined) this.#answers.push(JSON.stringify({ jsonrpc: "2.0", id: sent.id, ...answer }));
    this.#wake();
  }

  async receive() {
    while (!this.#answers.length) await new Promise((resolve) => (this.#wake = resolve));
    return this.#answers.shift();
  }

  close() {}

  /** The ids of spans in the trace contexts of the messages of a method. */
  parentsOf(method) {
    const contexts = this.sent.filter((sent) => sent.method === method).map(({ params }) => params._meta.traceparent);
    return contexts.map((context) => context.split("-")[2]);
  }
}

/** Resolves with the spans in a trace once there are so many; rejects after ten seconds. */
async function spansOf({ traceId }, count) {
  for (let look = 0; ; look++) {
    const found = spans.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
    if (found.length === count) return found;
    assert.ok(look < 1000, found.map(({ name, kind }) => `${name} ${kind}`).join(", "));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("rpc_38_connecting_and_notifications_have_spans", async () => {
  const server = new Legacy();
  let client;
  const user = await within(async () => {
    client = await Client.connect(server);
  });
  // The spans of the user, of the opening, and of its requests.
  const all = await spansOf(user, 4);
  const opening = all.find((span) => parentOf(span) === user.spanId);
  assert.deepEqual([opening.name, opening.kind, opening.status.code], ["initialize", SpanKind.CLIENT, SpanStatusCode.UNSET]);
  assert.equal(opening.attributes["mcp.method.name"], "initialize");
  assert.equal(opening.attributes["mcp.protocol.version"], "2025-11-25");
  const below = all.filter((span) => parentOf(span) === idOf(opening));
  assert.deepEqual(
    below.map(({ name, links }) => [name, links]),
    [
      ["server/discover", []],
      ["initialize", []],
    ],
  );
  assert.equal(below[0].attributes["error.type"], "-32601");
  for (const method of ["server/discover", "initialize"]) assert.deepEqual(server.parentsOf(method), [idOf(opening)]);
  const noting = await within(() => {
    client.notify("com.acme/changed", { to: 7 });
  });
  const noted = (await spansOf(noting, 2)).find(({ name }) => name === "com.acme/changed");
  assert.deepEqual([noted.kind, parentOf(noted)], [SpanKind.CLIENT, noting.spanId]);
  await assert.rejects(client.ping());
  assert.deepEqual(server.parentsOf("com.acme/changed"), [idOf(noted)]);
  await client.close();
  const failed = await within(() => assert.rejects(Client.connect("http://127.0.0.1:9/mcp")));
  const refused = (await spansOf(failed, 2)).find(({ name }) => name === "server/discover");
  assert.equal(refused.status.code, SpanStatusCode.ERROR);
});

test("the_span_of_connecting_is_the_parent_of_the_servers_spans", async () => {
  for (const [revision, name] of [
    ["2025-11-25", "initialize"],
    ["2026-07-28", "server/discover"],
  ]) {
    let client;
    const user = await within(async () => {
      client = await Client.connect(server, { revision });
    });
    await spansOf(user, 3);
    const [opening, served] = [spanOf(user, name, SpanKind.CLIENT), spanOf(user, name, SpanKind.SERVER)];
    assert.deepEqual([parentOf(opening), parentOf(served)], [user.spanId, idOf(opening)]);
    await client.close();
  }
});

test("each_round_of_a_call_is_a_child_of_its_span", async () => {
  const client = await Client.connect(server, { revision: "2026-07-28", onElicit: () => ({ action: "decline" }) });
  const user = await within(() => client.callTool("ask"));
  // The spans of the user, the call, two rounds at both sides, and the middleware around each.
  const all = await spansOf(user, 8);
  const call = all.find((span) => parentOf(span) === user.spanId);
  const below = all.filter((span) => parentOf(span) === idOf(call));
  const ids = (kind) => below.filter((span) => span.kind === kind).map(({ attributes }) => attributes["jsonrpc.request.id"]).sort();
  assert.deepEqual(ids(SpanKind.CLIENT), ids(SpanKind.SERVER));
  assert.equal(new Set(ids(SpanKind.CLIENT)).size, 2);
  await client.close();
});

test("a_gateway_continues_the_trace", async () => {
  const behind = await Client.connect(server, { telemetry: false });
  const gateway = new Server({ name: "gateway", version: "1" });
  gateway.proxy(behind);
  const client = await Client.connect(gateway);
  const user = await within(() => client.callTool("work"));
  const served = () => spans.getFinishedSpans().filter((span) => span.name === "tools/call work" && span.kind === SpanKind.SERVER);
  await reported(() => served().length === 2);
  const sent = spanOf(user, "tools/call work", SpanKind.CLIENT);
  assert.deepEqual(served().map(parentOf), [idOf(sent), idOf(sent)]);
  spanOf(user, "inside", SpanKind.INTERNAL);
  await client.close();
  await gateway.close();
  await behind.close();
});

test("durations_are_measured_in_the_buckets_of_the_conventions", async () => {
  const client = await Client.connect(server, { revision: "2025-11-25" });
  await client.callTool("work");
  await client.close();
  await reported();
  measured.reset();
  await meters.forceFlush();
  const all = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  for (const side of ["server", "client"]) {
    const of = (name) => all.find(({ descriptor }) => descriptor.name === `mcp.${side}.${name}.duration`);
    const operations = of("operation");
    assert.equal(operations.descriptor.unit, "s");
    const { attributes, value } = operations.dataPoints.find((point) => point.attributes["gen_ai.tool.name"] === "work");
    assert.deepEqual(value.buckets.boundaries, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
    assert.equal(attributes["mcp.method.name"], "tools/call");
    assert.equal(attributes["jsonrpc.request.id"], undefined);
    assert.equal(of("session").dataPoints[0].attributes["mcp.protocol.version"], "2025-11-25");
  }
});

/** The load of the servers of this process, by the ends of the names. */
async function load() {
  measured.reset();
  await meters.forceFlush();
  const all = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const ours = all.filter(({ descriptor }) => descriptor.name.startsWith("trunkline.server."));
  return Object.fromEntries(ours.map(({ descriptor, dataPoints }) => [descriptor.name.split(".").at(-1), dataPoints[0].value]));
}

/** Resolves with the load once it is as expected; rejects after ten seconds. */
async function loadWhen(expected) {
  for (let look = 0; look < 1000; look++) {
    const now = await load();
    if (expected(now)) return now;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`the load is ${JSON.stringify(await load())}`);
}

test("the_load_of_all_servers_is_measured", async () => {
  const loaded = new Server({ name: "loaded", version: "1" }, { maxRunning: 2 });
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  loaded.registerTool("hold", {}, async () => {
    await gate;
    return "done";
  });
  const isIdle = (now) => Object.values(now).every((value) => value === 0);
  const idle = { sessions: 2, running_calls: 0, waiting_calls: 0, store_errors: 0 };
  // Sessions of other tests may still be ending.
  await loadWhen(isIdle);
  const client = await Client.connect(loaded, { revision: "2025-11-25" });
  const beside = await Client.connect(server, { revision: "2025-11-25" });
  assert.deepEqual(await load(), idle);
  const calls = [1, 2, 3].map(() => client.callTool("hold"));
  await loadWhen((now) => isDeepStrictEqual(now, { ...idle, running_calls: 2, waiting_calls: 1 }));
  open();
  await Promise.all(calls);
  await loadWhen((now) => isDeepStrictEqual(now, idle));
  await client.close();
  await beside.close();
  await loaded.close();
  await loadWhen(isIdle);
});

test("without_telemetry_nothing_crosses_and_nothing_is_loaded", async () => {
  const off = new Server({ name: "off", version: "1" }, { telemetry: false });
  off.registerTool("seen", {}, (_, ctx) => String(ctx.meta.traceparent));
  const client = await Client.connect(off, { telemetry: false });
  await within(async () => {
    assert.equal((await client.callTool("seen")).content[0].text, "undefined");
  });
  await reported();
  assert.deepEqual(
    spans.getFinishedSpans().map(({ name }) => name),
    ["user"],
  );
  await client.close();
  await off.close();
  // A program that does not use OpenTelemetry does not load it, even if it is installed.
  const main = JSON.stringify(createRequire(import.meta.url).resolve("trunkline"));
  const program = `
    const { Client, Server } = require(${main});
    const server = new Server({ name: "a", version: "1" });
    server.registerTool("t", {}, (_, ctx) => String(ctx.meta.traceparent));
    Client.connect(server).then(async (client) => {
      const result = await client.callTool("t");
      await client.close();
      await server.close();
      console.log(result.content[0].text, Object.keys(require.cache).some((file) => file.includes("opentelemetry")));
    });`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  assert.equal(stdout.trim(), "undefined false", stderr);
});

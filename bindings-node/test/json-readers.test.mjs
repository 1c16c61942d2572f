// JSON that two readers may take differently, as data: `tests/json-readers.json`. What the core has
// validated is what handlers, middleware and clients see, or the message is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Client, Server, TransportError } from "trunkline";
import * as v from "valibot";
import { z } from "zod";

// Recorded messages are checked for purity, and these are invalid on purpose.
delete process.env.TRUNKLINE_WIRE_LOG;

const { schema: SCHEMA, cases: CASES, refused: REFUSED } = JSON.parse(readFileSync(new URL("../../tests/json-readers.json", import.meta.url), "utf8"));
const options = { timeout: 20_000 };

/** The members that the schema has, as programs read them: also those that a prototype has. */
function known(value, schema = SCHEMA) {
  if (schema.$ref) schema = SCHEMA.$defs[schema.$ref.slice("#/$defs/".length)];
  if (Array.isArray(value)) return value.map((item) => known(item, schema.items));
  if (typeof value !== "object" || value === null) return value;
  const { properties, additionalProperties } = schema;
  if (additionalProperties) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, known(member, additionalProperties)]));
  const found = Object.keys(properties).filter((name) => value[name] !== undefined);
  return Object.fromEntries(found.map((name) => [name, known(value[name], properties[name])]));
}

/** Compares what was seen, or the error instead of it, with what may be. */
function check({ seen: wanted, mayRefuse }, who, seen, refusal) {
  if (refusal !== undefined) assert.ok(mayRefuse && refusal.includes(mayRefuse), `${who} is refused: ${refusal}`);
  // All numbers are doubles, but infinity is not 1e400.
  else assert.equal(JSON.stringify(sorted(known(seen)), finite), JSON.stringify(sorted(JSON.parse(wanted)), finite), who);
}

function finite(_name, value) {
  assert.ok(typeof value !== "number" || Number.isFinite(value), `${value}`);
  return Object.is(value, -0) ? 0 : value;
}

/** The value with its members in one order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}

const zodTransfer = z.object({ amount: z.number().min(1).max(100), kind: z.string().max(4) }).partial();
const zodPayment = zodTransfer.extend({ status: z.string().max(4), huge: z.number(), transfer: zodTransfer, items: z.array(zodTransfer), named: z.record(z.string(), zodTransfer) }).partial();
const arkTransfer = type({ "amount?": "1 <= number <= 100", "kind?": "string <= 4" });
const arkPayment = arkTransfer.and({ "status?": "string <= 4", "huge?": "number", "transfer?": arkTransfer, "items?": arkTransfer.array(), "named?": type.Record("string", arkTransfer) });
const transfer = { amount: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(100))), kind: v.optional(v.pipe(v.string(), v.maxLength(4))) };
const valibotTransfer = v.object(transfer);
const valibotPayment = toStandardJsonSchema(
  v.object({ ...transfer, status: v.optional(v.pipe(v.string(), v.maxLength(4))), huge: v.optional(v.number()), transfer: v.optional(valibotTransfer), items: v.optional(v.array(valibotTransfer)), named: v.optional(v.record(v.string(), valibotTransfer)) }),
);
const READERS = { "JSON Schema": SCHEMA, zod: zodPayment, "zod, loose": zodPayment.loose(), arktype: arkPayment, valibot: valibotPayment };

const server = new Server({ name: "readers", version: "1" });
const seen = [];
const judged = [];
Object.values(READERS).forEach((inputSchema, index) => {
  server.registerTool(`tool${index}`, { inputSchema }, (payment) => {
    seen.push(payment);
  });
});
server.use("tools/call", (request, next) => {
  judged.push(request.params.arguments);
  return next();
});
const handle = server.fetchHandler({ stateless: true });
after(() => server.close({ deadline: 0 }));

/** Calls a tool; returns the refusal, if the call was refused. */
async function refusal(tool, sent) {
  seen.length = judged.length = 0;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${sent}}}`;
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
  const { error, result } = await (await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }))).json();
  return error?.message ?? (result.isError ? result.content[0].text : undefined);
}

for (const row of CASES) {
  test(`a server: ${row.name}`, options, async () => {
    for (const [index, reader] of Object.keys(READERS).entries()) {
      const refused = await refusal(`tool${index}`, row.sent);
      // The schemas of most objects of these libraries forbid unknown members.
      if (reader !== "JSON Schema" && / not allowed$/.test(refused)) continue;
      check(row, reader, seen[0], refused);
      for (const one of judged) check(row, `middleware before ${reader}`, one, refused);
    }
  });
}

for (const { name, sent } of REFUSED) {
  test(`a server refuses ${name}`, options, async () => {
    assert.ok(await refusal("tool0", sent));
    assert.deepEqual(seen, []);
  });
}

/** The transport to a server with one tool, whose structured content is a text. */
class Scripted {
  answers = [];
  wake = () => {};

  constructor(content) {
    this.results = {
      initialize: JSON.stringify({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "readers", version: "1" } }),
      "tools/list": JSON.stringify({ tools: [{ name: "pay", inputSchema: { type: "object" }, outputSchema: SCHEMA }] }),
      "tools/call": `{"content":[],"structuredContent":${content}}`,
    };
  }

  async connect() {}

  async send(message) {
    const { id, method } = JSON.parse(message);
    if (id === undefined) return;
    this.answers.push(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${this.results[method]}}`);
    this.wake();
  }

  async receive() {
    if (this.answers.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.answers.shift();
  }

  async close() {}
}

/** Returns the structured content that a client sees with each reader, or the errors instead. */
async function received(content) {
  const client = await Client.connect(new Scripted(content), { revision: "2025-11-25" });
  try {
    // Results are validated against the schemas that are known.
    await client.listTools();
    const found = [];
    for (const result of [undefined, zodPayment, arkPayment, valibotPayment]) {
      try {
        found.push({ value: (await client.callTool("pay", {}, { result })).structuredContent });
      } catch (error) {
        assert.ok(error instanceof TransportError, error);
        found.push({ refused: error.message });
      }
    }
    return found;
  } finally {
    await client.close();
  }
}

for (const row of CASES) {
  test(`a client: ${row.name}`, options, async () => {
    for (const [index, { value, refused }] of (await received(row.sent)).entries()) check(row, `reader ${index}`, value, refused);
  });
}

for (const { name, sent } of REFUSED) {
  test(`a client refuses ${name}`, options, async () => {
    for (const { refused } of await received(sent)) assert.ok(refused);
  });
}

test("middleware that changes nothing keeps the numbers of results", options, async () => {
  const content = '{"huge":18446744073709551617}';
  const upstream = await Client.connect(new Scripted(content), { revision: "2025-11-25" });
  for (const marks of [false, true]) {
    const gateway = new Server({ name: "gateway", version: "1" });
    gateway.proxy(upstream);
    gateway.use("tools/call", async (_request, next) => {
      const result = await next();
      if (marks) result._meta = { "example.com/marked": true };
      return result;
    });
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{}}}';
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
    const answer = await (await gateway.fetchHandler({ stateless: true })(new Request("http://localhost/mcp", { method: "POST", headers, body }))).text();
    assert.deepEqual([answer.includes(content), answer.includes("marked")], [!marks, marks], answer);
    await gateway.close({ deadline: 0 });
  }
  await upstream.close();
});

// Mutated responses of a server: each yields a result or a typed error.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, ToolError } from "trunkline";

// Recorded messages are checked for purity, and these are invalid on purpose.
delete process.env.TRUNKLINE_WIRE_LOG;

const CALLS = 2_000;

const TEXT = { type: "text", text: "hi", annotations: { audience: ["user"], priority: 0.5 } };
const BLOCKS = [
  TEXT,
  { type: "resource", resource: { uri: "a:b", text: "t", mimeType: "text/plain" } },
  { type: "image", data: "aGk=", mimeType: "image/png" },
  { type: "resource_link", uri: "a:b", name: "n" },
];
const RESULTS = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    serverInfo: { name: "odd", version: "1" },
  },
  "tools/call": { content: BLOCKS, structuredContent: { n: 1 }, isError: false },
  "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }], nextCursor: "c" },
  "resources/list": { resources: [{ uri: "a:b", name: "n", size: 5, mimeType: "x/y" }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "a:{b}", name: "n" }] },
  "resources/read": { contents: [{ uri: "a:b", text: "t" }, { uri: "a:c", blob: "aGk=" }] },
  "prompts/list": { prompts: [{ name: "p", arguments: [{ name: "a", required: true }] }] },
  "prompts/get": { description: "d", messages: [{ role: "user", content: TEXT }] },
  "completion/complete": { completion: { values: ["a"], total: 1, hasMore: false } },
};
const OPERATIONS = [
  (client) => client.callTool("t"),
  (client) => client.listTools(),
  (client) => client.listResources(),
  (client) => client.listResourceTemplates(),
  (client) => client.readResource("a:b"),
  (client) => client.listPrompts(),
  (client) => client.getPrompt("p"),
  (client) => client.ping(),
];
// JSON that replaces a value.
const ODD = [
  ...["null", "true", "0", "-1", "1.5", "1e999", '"x"', "[]", "{}", "[1]", "[null]", '{"a":1}', '{"a":1,"a":2}'],
  ...['"\\ud800"', '"a\\udfff\\u0000b"', '{"\\ud800":1}', '{"__proto__":{}}', '{"type":"text"}', '[{"type":"text","text":5}]'],
  ...["9".repeat(5_000), `1${"0".repeat(30)}.5`, "[".repeat(120) + "]".repeat(120), "[".repeat(600) + "]".repeat(600), `"${"z".repeat(3_000)}"`],
];

/** Numbers below `end` that are the same in every run (xorshift). */
function choices(seed) {
  let state = seed;
  return (end) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % end;
  };
}

const isParent = (value) => typeof value === "object" && value !== null;
const places = (value, at = "") => [at, ...(isParent(value) ? Object.entries(value).flatMap(([key, member]) => places(member, `${at}/${key}`)) : [])];

/** The JSON text of a value with another text at one place. */
function mutated(value, place, odd, at = "") {
  if (at === place) return odd;
  if (!isParent(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => [key, mutated(member, place, odd, `${at}/${key}`)]);
  return Array.isArray(value) ? `[${members.map(([, text]) => text)}]` : `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`)}}`;
}

/** The transport to a server that answers `initialize`, and mutates every other answer. */
class Hostile {
  answers = [];
  wake = () => {};

  constructor(choose) {
    this.choose = choose;
  }

  connect() {}

  close() {
    this.wake();
  }

  send(message) {
    const { id, method } = JSON.parse(message);
    if (id === undefined) return;
    let value = RESULTS[method] ?? {};
    let name = "result";
    let text = JSON.stringify(value);
    if (method !== "initialize") {
      if (this.choose(10) === 0) [name, value] = ["error", { code: -32000, message: "no", data: { a: 1 } }];
      const all = places(value);
      text = mutated(value, all[this.choose(all.length)], ODD[this.choose(ODD.length)]);
    }
    this.answers.push(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${name}":${text}}`);
    this.wake();
  }

  async receive() {
    if (this.answers.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.answers.shift();
  }
}

test("T9: any response of a server leads to a result or a typed error", { timeout: 60_000 }, async () => {
  const choose = choices(9);
  const client = await Client.connect(new Hostile(choose), { revision: "2025-11-25", timeout: 1_000 });
  const outcomes = { result: 0, error: 0 };
  for (let call = 0; call < CALLS; call += 1) {
    try {
      const result = await OPERATIONS[choose(OPERATIONS.length)](client);
      outcomes.result += 1;
      assert.equal(typeof (result?.text ?? ""), "string");
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      assert.ok(error instanceof ToolError || (error.kind !== undefined && error.kind !== "internal"), error.stack);
      outcomes.error += 1;
    }
  }
  assert.ok(Math.min(outcomes.result, outcomes.error) > CALLS / 10, JSON.stringify(outcomes));
  await client.close();
});

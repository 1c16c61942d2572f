// Odd responses, of which every language makes the same: `tests/odd-answers.json`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, setLogger, TransportError } from "trunkline";

// Recorded messages are checked for purity, and these are invalid on purpose.
delete process.env.TRUNKLINE_WIRE_LOG;

const TABLE = JSON.parse(readFileSync(new URL("../../tests/odd-answers.json", import.meta.url), "utf8"));
const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
  serverInfo: { name: "odd", version: "1" },
};

/** The transport to a server that answers as the row says. */
class Odd {
  answers = [];
  wake = () => {};

  constructor({ tools, method, result }) {
    this.results = { initialize: JSON.stringify(HELLO), "tools/list": tools, [method]: result };
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

const names = (list) => async (client) => ({ names: (await list(client)).map(({ name }) => name) });

const connected = async (client) => ({ server: client.serverInfo?.name ?? null, revision: client.revision });

const READERS = {
  initialize: connected,
  "server/discover": connected,
  "tools/call": async (client) => {
    const result = await client.callTool("t");
    assert(Array.isArray(result.content));
    return { text: result.text, isError: result.isError ?? false, blocks: result.content.length };
  },
  "tools/list": names((client) => client.listTools()),
  "resources/list": names((client) => client.listResources()),
  "resources/templates/list": names((client) => client.listResourceTemplates()),
  "prompts/list": names((client) => client.listPrompts()),
  "prompts/get": async (client) => ({ texts: (await client.getPrompt("p")).messages.map(({ content }) => content.text ?? null) }),
  "resources/read": async (client) => ({ texts: (await client.readResource("a:b")).contents.map(({ text, blob }) => blob ?? text) }),
  "completion/complete": async (client) => ({ values: (await client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "x" })).completion.values }),
};

let records = [];
let logged = () => {};
setLogger((record) => {
  records.push(record.message);
  logged();
});

async function read(row) {
  const { tools, method } = row;
  // A client with a given revision needs no discovery.
  const client = await Client.connect(new Odd(row), { revision: method === "server/discover" ? undefined : "2025-11-25" });
  try {
    if (tools !== undefined) await client.listTools();
    return await READERS[method](client);
  } finally {
    await client.close();
  }
}

for (const row of TABLE) {
  const { what, method, reads, warns, refused } = row;
  test(`${method}: ${what}`, { timeout: 20_000 }, async () => {
    records = [];
    if (refused !== undefined) {
      await assert.rejects(read(row), (error) => error instanceof TransportError && error.message.includes(refused));
      return;
    }
    const found = await read(row);
    assert.deepEqual(Object.fromEntries(Object.keys(reads).map((name) => [name, found[name]])), reads);
    if (!warns) assert.deepEqual(records, []);
    else while (!records.some((text) => warns.every((part) => text.includes(part)))) await new Promise((resolve) => (logged = resolve));
  });
}

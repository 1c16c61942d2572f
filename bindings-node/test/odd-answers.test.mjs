// Odd responses, of which every language makes the same: `tests/odd-answers.json`. Each is read
// alone and in a group; the core's own test reads it behind a proxy as well.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, ClientGroup, setLogger, TransportError } from "trunkline";

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

const names = (list) => async (client, prefix) => ({ names: (await list(client)).map(({ name }) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)) });

const READERS = {
  "tools/call": async (client, prefix) => {
    const result = await client.callTool(`${prefix}t`);
    assert(Array.isArray(result.content));
    return { text: result.text, isError: result.isError ?? false, blocks: result.content.length };
  },
  "tools/list": names((client) => client.listTools()),
  "resources/list": names((client) => client.listResources()),
  "resources/templates/list": names((client) => client.listResourceTemplates()),
  "prompts/list": names((client) => client.listPrompts()),
  "prompts/get": async (client, prefix) => ({ texts: (await client.getPrompt(`${prefix}p`)).messages.map(({ content }) => content.text ?? null) }),
  "resources/read": async (client, prefix) => ({ texts: (await client.readResource(prefix === "" ? "a:b" : "odd+a:b")).contents.map(({ text, blob }) => blob ?? text) }),
  "completion/complete": async (client, prefix) => ({
    values: (await client.complete({ type: "ref/prompt", name: `${prefix}p` }, { name: "a", value: "x" })).completion.values,
  }),
};

let records = [];
let logged = () => {};
setLogger((record) => {
  records.push(record);
  logged();
});

/** The first record whose message has these parts. */
async function untilLogged(parts) {
  for (;;) {
    const found = records.find(({ message }) => parts.every((part) => message.includes(part)));
    if (found) return found;
    await new Promise((resolve) => (logged = resolve));
  }
}

/** Checks what was made of a response. */
async function checkDelivered({ reads, warns, record }, found) {
  assert.deepEqual(Object.fromEntries(Object.keys(reads).map((name) => [name, found[name]])), reads);
  if (!warns) return assert.deepEqual(records, []);
  const { level, target, event, fields } = await untilLogged(warns);
  if (record) assert.deepEqual({ level, target, event, fields }, record);
}

/** Reads the response with a client, and checks what it makes of it. */
async function judge(row, client, prefix = "") {
  const { tools, method, refused } = row;
  records = [];
  let found;
  try {
    if (tools !== undefined) await client.listTools();
    found = await READERS[method](client, prefix);
  } catch (error) {
    if (refused === undefined) throw error;
    assert(error instanceof TransportError && error.message.includes(refused), error);
    return;
  }
  if (refused === undefined) return checkDelivered(prefix !== "" && row.inGroup ? { ...row, reads: row.inGroup } : row, found);
  // Without its list, a server is missing from that of a group.
  assert(prefix !== "");
  assert.deepEqual(found, { names: [] });
  await untilLogged([refused]);
}

async function judgeEverywhere(row, client) {
  await judge(row, client);
  const group = await ClientGroup.connect({ odd: client });
  await judge(row, group, "odd__").finally(() => group.close());
}

for (const row of TABLE) {
  const { what, method, refused } = row;
  test(`${method}: ${what}`, { timeout: 20_000 }, async () => {
    records = [];
    // A client with a given revision needs no discovery.
    const connecting = Client.connect(new Odd(row), { revision: method === "server/discover" ? undefined : "2025-11-25" });
    if (!(method in READERS) && refused !== undefined) {
      await assert.rejects(connecting, (error) => error instanceof TransportError && error.message.includes(refused));
      return;
    }
    const client = await connecting;
    try {
      if (method in READERS) await judgeEverywhere(row, client);
      else await checkDelivered(row, { server: client.serverInfo?.name ?? null, revision: client.revision });
    } finally {
      await client.close();
    }
  });
}

// Responses that are odd but clear, which every language reads alike: `tests/odd-answers.json`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client } from "trunkline";

// Recorded messages are checked for purity, and these are invalid on purpose.
delete process.env.TRUNKLINE_WIRE_LOG;

const TABLE = JSON.parse(readFileSync(new URL("../../tests/odd-answers.json", import.meta.url), "utf8"));
const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
  serverInfo: { name: "odd", version: "1" },
};

/** The transport to a server that answers `initialize`, and anything else with one result. */
class Odd {
  answers = [];
  wake = () => {};

  constructor(result) {
    this.result = result;
  }

  async connect() {}

  async send(message) {
    const { id, method } = JSON.parse(message);
    if (id === undefined) return;
    const result = method === "initialize" ? JSON.stringify(HELLO) : this.result;
    this.answers.push(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    this.wake();
  }

  async receive() {
    if (this.answers.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.answers.shift();
  }

  async close() {}
}

const names = (list) => async (client) => ({ names: (await list(client)).map(({ name }) => name) });

const READERS = {
  "tools/call": async (client) => {
    const result = await client.callTool("t");
    assert(Array.isArray(result.content));
    return { text: result.text, isError: result.isError ?? false };
  },
  "tools/list": names((client) => client.listTools()),
  "resources/list": names((client) => client.listResources()),
  "resources/templates/list": names((client) => client.listResourceTemplates()),
  "prompts/list": names((client) => client.listPrompts()),
  "prompts/get": async (client) => ({ texts: (await client.getPrompt("p")).messages.map(({ content }) => content.text) }),
  "resources/read": async (client) => ({ texts: (await client.readResource("a:b")).contents.map(({ text, blob }) => blob ?? text) }),
  "completion/complete": async (client) => ({ values: (await client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "x" })).completion.values }),
};

for (const { what, method, result, reads } of TABLE) {
  test(`${method}: ${what}`, { timeout: 20_000 }, async () => {
    const client = await Client.connect(new Odd(result), { revision: "2025-11-25" });
    try {
      assert.deepEqual(await READERS[method](client), reads);
    } finally {
      await client.close();
    }
  });
}

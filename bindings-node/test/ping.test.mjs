// Pings in both directions. Servers of every revision can be asked; clients only where there is a
// handshake.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, Server } from "trunkline";

const legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const modern = "2026-07-28";

let server;
let listener;
let outcome;

before(async () => {
  server = new Server({ name: "pinging", version: "1.0.0" });
  server.registerTool("ping", {}, async (_, ctx) => {
    outcome = await ctx.ping({ timeout: 60_000 }).then(() => "answered", (error) => error);
  });
  server.registerTool("ping_nobody", {}, async (_, ctx) => {
    outcome = await ctx.ping({ signal: AbortSignal.abort(new Error("no need")) }).catch((error) => error);
  });
  server.registerTool("ping_afterwards", {}, (_, ctx) => {
    setImmediate(() => (outcome = ctx.ping().catch((error) => error)));
  });
  listener = await server.listen({ port: 0 });
});

after(() => server.close());

async function withClient(transport, revision, body) {
  const client = await Client.connect(transport === "memory" ? server : listener.url, { revision });
  try {
    await body(client);
  } finally {
    await client.close();
  }
}

for (const transport of ["memory", "http"]) {
  for (const revision of legacy) {
    test(`a server and a handler's client respond, revision ${revision}, ${transport}`, () =>
      withClient(transport, revision, async (client) => {
        await client.ping();
        await client.callTool("ping");
        assert.equal(outcome, "answered");
      }));
  }

  test(`a server responds, a handler's client cannot be pinged, revision ${modern}, ${transport}`, () =>
    withClient(transport, modern, async (client) => {
      await client.ping();
      await client.callTool("ping");
      const { name, kind, code } = outcome;
      assert.deepEqual({ name, kind, code }, { name: "ProtocolError", kind: "protocol", code: -32601 });
    }));
}

test("a handler's ping ends with its signal, or with the call", () =>
  withClient("memory", "2025-11-25", async (client) => {
    await client.callTool("ping_nobody");
    assert.deepEqual([outcome.name, outcome.cause.message], ["CancelledError", "no need"]);
    await client.callTool("ping_afterwards");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await outcome).kind, "closed");
  }));

// Hearing that the server's tools have changed, on every revision and transport.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const fixture = [process.execPath, fileURLToPath(new URL("../../tests/fixtures/node/server.mjs", import.meta.url)), "--stdio"];

let server;
let listener;

before(async () => {
  server = new Server({ name: "changing", version: "1.0.0" });
  listener = await server.listen({ port: 0 });
});

after(() => server.close());

/**
 * Changes the tools until somebody has heard of it: over HTTP the stream that tells may open a
 * moment after the connection.
 */
async function changeUntil(heard) {
  for (const deadline = Date.now() + 10_000; !heard() && Date.now() < deadline; await sleep(20)) {
    const tool = server.registerTool("now_and_then", {}, () => "");
    await sleep(20);
    tool.remove();
  }
}

for (const revision of revisions) {
  for (const transport of ["memory", "http"]) {
    test(`onToolsChanged and the event, revision ${revision}, ${transport}`, async () => {
      const heard = { option: 0, event: 0, methods: new Set() };
      const client = await Client.connect(transport === "memory" ? server : listener.url, { revision, onToolsChanged: () => heard.option++ });
      try {
        client.on("toolsChanged", () => heard.event++);
        client.on("notification", ({ method }) => heard.methods.add(method));
        await changeUntil(() => heard.option > 0);
        assert.ok(heard.option > 0);
        assert.equal(heard.event, heard.option);
        assert.ok(heard.methods.has("notifications/tools/list_changed"));
        const late = server.registerTool("late", {}, () => "here");
        assert.equal((await client.callTool("late")).content[0].text, "here");
        late.remove();
      } finally {
        await client.close();
      }
    });
  }

  test(`onToolsChanged, revision ${revision}, stdio`, async () => {
    const client = await Client.connect(fixture, { revision, onToolsChanged: () => {} });
    try {
      const told = once(client, "toolsChanged", { signal: AbortSignal.timeout(10_000) });
      await client.callTool("test_trigger_tool_change");
      await told;
    } finally {
      await client.close();
    }
  });

  test(`to listen without onToolsChanged is an error that names it, revision ${revision}`, async () => {
    const client = await Client.connect(server, { revision });
    try {
      assert.throws(() => client.on("toolsChanged", () => {}), { kind: "invalidArgument", message: /onToolsChanged/ });
      await assert.rejects(once(client, "toolsChanged"), { kind: "invalidArgument" });
      assert.equal(client.listenerCount("toolsChanged"), 0);
      client.on("notification", () => {});
    } finally {
      await client.close();
    }
  });
}

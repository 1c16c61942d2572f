// Many servers behind one client.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client, ClientGroup, ClosedError, InvalidArgumentError, ProtocolError, Server, TimeoutError, TransportError } from "trunkline";

const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

/** A server that answers with its name. */
function named(name) {
  const server = new Server({ name, version: "1.0.0" });
  server.registerTool("whoami", {}, () => name);
  server.registerTool("greet", { inputSchema: { type: "object" } }, async (_, ctx) => (await ctx.elicit("Your name?", form)).content.name);
  server.registerResource("today", "notes://today", {}, () => name);
  return server;
}

/** Serves `first` and `second` over HTTP while `use` runs. */
async function withServers(use) {
  const servers = [named("first"), named("second")];
  try {
    const listeners = await Promise.all(servers.map((server) => server.listen({ port: 0 })));
    await use(listeners.map(({ url }) => url), servers);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

/** Connects to a group, and closes it. */
async function withGroup(target, options, use) {
  const group = await ClientGroup.connect(target, options);
  try {
    await use(group);
  } finally {
    await group.close();
  }
}

const text = async (call) => (await call).content[0].text;

test("a server that fails does not affect the others", async () => {
  const folder = await mkdtemp(join(tmpdir(), "trunkline-group-"));
  try {
    await withServers(async ([a, b]) => {
      const mcpServers = { a: { url: a }, b: { type: "http", url: b }, gone: { command: "/no/such/program" } };
      const file = join(folder, "mcp.json");
      await writeFile(file, JSON.stringify({ mcpServers }));
      for (const target of [file, { mcpServers }, { a, b: new URL(b), gone: ["/no/such/program"] }]) {
        await withGroup(target, {}, async (group) => {
          const servers = await group.servers();
          assert.deepEqual(servers.map(({ name, prefix, state }) => [name, prefix, state]), [["a", "a", "connected"], ["b", "b", "connected"], ["gone", "gone", "disconnected"]]);
          assert.deepEqual([servers[0].revision, servers[1].serverInfo?.name, servers[0].error], ["2026-07-28", "second", undefined]);
          assert.ok(servers[2].error instanceof TransportError && servers[2].error.message.includes("/no/such/program"));
          assert.deepEqual((await group.listTools()).map(({ name }) => name), ["a__whoami", "a__greet", "b__whoami", "b__greet"]);
          assert.equal(await text(group.callTool("b__whoami")), "second");
          assert.deepEqual((await group.listResources()).map(({ uri }) => uri), ["a+notes://today", "b+notes://today"]);
          await assert.rejects(group.callTool("gone__x"), TransportError);
          await assert.rejects(group.callTool("c__x"), (error) => error instanceof ProtocolError && /Its servers: a, b, gone/.test(error.message));
        });
      }
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("servers can be added and removed while calls run, and their changes are those of the group", async () => {
  await withServers(async ([a, b], [, second]) => {
    let changed = 0;
    await withGroup({ a }, { onToolsChanged: () => (changed += 1) }, async (group) => {
      const calls = Array.from({ length: 50 }, () => text(group.callTool("a__whoami")));
      await group.addServer("b", b);
      assert.equal(await text(group.callTool("b__whoami")), "second");
      const changes = await group.subscribe({ resources: ["b+notes://today"], tools: true });
      second.registerTool("late", {}, () => "late");
      second.resourceUpdated("notes://today");
      const seen = new Set();
      for await (const { kind, uri } of changes) {
        seen.add(uri ?? kind);
        if (seen.has("tools") && seen.has("b+notes://today")) break;
      }
      assert.equal(await text(group.callTool("b__late")), "late");
      assert.ok(changed > 0);
      await group.removeServer("b");
      assert.deepEqual((await group.servers()).map(({ name }) => name), ["a"]);
      assert.deepEqual(await Promise.all(calls), Array(50).fill("first"));
      await assert.rejects(group.callTool("b__whoami"), ProtocolError);
      await assert.rejects(group.removeServer("b"), InvalidArgumentError);
      await assert.rejects(group.addServer("a", a), /already has a server named "a"/);
      await assert.rejects(group.addServer("c", "node server.mjs"), (error) => error instanceof InvalidArgumentError && /target/.test(error.message));
    });
  });
});

test("ELI-22: handlers answer all servers, and know which server asks", async () => {
  await withServers(async ([home, work]) => {
    const onElicit = ({ serverName }) => ({ action: "accept", content: { name: serverName ?? "nobody" } });
    await withGroup({ home, work }, { onElicit }, async (group) => {
      assert.deepEqual(await Promise.all([text(group.callTool("home__greet")), text(group.callTool("work__greet"))]), ["home", "work"]);
      group.setHandlers({ onElicit: () => ({ action: "accept", content: { name: "another" } }) });
      assert.equal(await text(group.callTool("work__greet")), "another");
    });
    const client = await Client.connect(home, { onElicit });
    assert.equal(await text(client.callTool("greet")), "nobody");
    await assert.rejects(client.request("servers"), /is for groups/);
    await client.close();
  });
});

test("a server that hangs delays neither the group nor its shutdown", async () => {
  const sockets = new Set();
  const silent = createServer((socket) => sockets.add(socket.on("error", () => undefined))).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const hanging = `http://127.0.0.1:${silent.address().port}/mcp`;
  try {
    await withServers(async ([a]) => {
      await withGroup({ a, hanging }, { connectTimeout: 300 }, async (group) => {
        const [, server] = await group.servers();
        assert.deepEqual([server.state, server.error instanceof TimeoutError], ["disconnected", true]);
        await assert.rejects(group.reconnectServer("hanging", { timeout: 50 }), TimeoutError);
      });
      const group = await ClientGroup.connect({ a });
      const adding = assert.rejects(group.addServer("hanging", hanging), ClosedError);
      assert.equal(await text(group.callTool("a__whoami")), "first");
      assert.deepEqual((await group.servers()).map(({ state }) => state), ["connected", "connecting"]);
      const started = performance.now();
      await group.close();
      await adding;
      assert.ok(performance.now() - started < 5000);
      await assert.rejects(group.callTool("a__whoami"), ClosedError);
    });
  } finally {
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  }
});

test("options for a single server are refused", async () => {
  await assert.rejects(ClientGroup.connect({ a: "http://127.0.0.1:9/mcp" }, { auth: "secret" }), /access_token/);
  await assert.rejects(ClientGroup.connect({ a: "http://127.0.0.1:9/mcp" }, { headers: { authorization: "b" } }), /Authorization is for one server/);
  await assert.rejects(ClientGroup.connect("missing.json"), /cannot be read/);
});

test("a group shares clients, and does not close them", async () => {
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const server = named("own");
    const onElicit = ({ serverName }) => ({ action: "accept", content: { name: `the client's, ${serverName}` } });
    const client = await Client.connect(server, { revision, onElicit });
    let changed;
    const change = new Promise((resolve) => (changed = resolve));
    const group = await ClientGroup.connect({ own: client }, { onToolsChanged: changed });
    assert.equal(await text(group.callTool("own__greet")), "the client's, undefined");
    server.registerTool("late", {}, () => "late");
    await change;
    await group.removeServer("own");
    await group.addServer("again", client);
    assert.equal(await text(group.callTool("again__late")), "late");
    await group.close();
    assert.equal(await text(client.callTool("late")), "late");

    const other = await ClientGroup.connect({ own: client });
    await client.close();
    await assert.rejects(other.callTool("own__late"), ClosedError);
    assert.equal((await other.servers())[0].state, "disconnected");
    await other.close();
    await server.close();
  }
});

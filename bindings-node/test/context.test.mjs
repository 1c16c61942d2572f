// AsyncLocalStorage in handlers is that of the request that they serve; lifespans.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { Client, Server } from "trunkline";

import { revisions } from "../test-support/peer.mjs";

const storage = new AsyncLocalStorage();
const ends = [];
after(async () => {
  for (const end of ends) await end();
});

/** The address of something that listens until the tests are over. */
async function address(listener) {
  const web = createServer(listener).listen(0, "127.0.0.1");
  await once(web, "listening");
  ends.push(() => (web.closeAllConnections(), web.close()));
  return `http://127.0.0.1:${web.address().port}`;
}

const fixture = [process.execPath, fileURLToPath(new URL("../../tests/fixtures/node/server.mjs", import.meta.url)), "--stdio"];

test("handlers run in the context of the request of a client in memory", async () => {
  // The port of this thread is made here.
  const server = storage.run("the first request", () => new Server({ name: "s", version: "1" }));
  server.registerTool("who", {}, () => String(storage.getStore()));
  server.registerTool("later", {}, async () => {
    await new Promise(setImmediate);
    return String(storage.getStore());
  });
  const client = await storage.run("the second", () => Client.connect(server));
  const ask = async (name) => (await client.callTool(name)).content[0].text;
  // More than one batch of events, too.
  const calls = Array.from({ length: 800 }, (_, at) => storage.run(at, () => ask(at % 2 ? "who" : "later")));
  assert.deepEqual(await Promise.all(calls), Array.from(calls, (_, at) => String(at)));
  await client.close();
});

test("events that a pipe brings do not run in the context of the one who connected", async () => {
  const client = await storage.run("the one who connects", () => Client.connect(fixture, { revision: "2025-11-25" }));
  const heard = [];
  client.on("notification", () => heard.push(String(storage.getStore())));
  // After a few turns the event loop reads the pipe itself.
  for (let at = 0; at < 30; at++) await storage.run(at, () => client.callTool("echo", { message: "hi" }));
  await storage.run("a caller", () => client.callTool("test_tool_with_logging"));
  assert.deepEqual(heard, ["undefined", "undefined", "undefined"]);
  await client.close();
});

test("whoever calls gets the progress in its own context", async () => {
  const server = new Server({ name: "s", version: "1" });
  server.registerTool("steps", {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    return "done";
  });
  const client = await Client.connect(server);
  const seen = [];
  await storage.run("a caller", () => client.callTool("steps", {}, { onProgress: () => seen.push(storage.getStore()) }));
  assert.deepEqual(seen, ["a caller"]);
  await client.close();
});

/** A server whose tools tell the store of their asynchronous context. */
function whoAsks(options) {
  const server = new Server({ name: "s", version: "1" }, options);
  server.registerTool("who", {}, async () => {
    const before = storage.getStore();
    await sleep(5);
    return `${before} ${storage.getStore()}`;
  });
  ends.push(() => server.close({ deadline: 0 }));
  return server;
}

async function two(url, revision) {
  const one = async (user) => {
    const client = await Client.connect(url, { revision, headers: { "X-User": user } });
    for (let call = 0; call < 5; call++) assert.equal((await client.callTool("who")).content[0].text, `${user} ${user}`);
    await client.close();
  };
  await Promise.all(["ada", "bob", "ada", "bob"].map(one));
}

for (const revision of revisions) {
  test(`two users at once in Express, and of a handler of web-standard requests, on ${revision}`, async () => {
    const app = express()
      .use((request, _, next) => storage.run(request.headers["x-user"], next))
      .use("/mcp", whoAsks().handler());
    await two(`${await address(app)}/mcp`, revision);
    const server = whoAsks();
    const hono = new Hono()
      .use((c, next) => storage.run(c.req.header("x-user"), next))
      .all("/mcp", (c) => server.fetch(c.req.raw));
    await two(`${await address(getRequestListener(hono.fetch))}/mcp`, revision);
  });

  test(`facts of an HTTP request on ${revision}`, async () => {
    const server = new Server({ name: "s", version: "1" });
    server.registerTool("facts", {}, (_, { headers, url, remoteAddress, sessionId, requestId }) => ({ user: headers["x-user"], url, remoteAddress, sessionId, requestId }));
    ends.push(() => server.close({ deadline: 0 }));
    const facts = async (target) => {
      const client = await Client.connect(target, { revision, ...(typeof target === "string" && { headers: { "X-User": "ada" } }) });
      const found = JSON.parse((await client.callTool("facts")).content[0].text);
      await client.close();
      assert.ok(found.requestId);
      assert.equal(typeof found.sessionId, typeof target === "string" && revision < "2026" ? "string" : "undefined");
      return [found.user, found.url, found.remoteAddress];
    };
    const listener = await server.listen({ port: 0 });
    assert.deepEqual(await facts(listener.url), ["ada", "/mcp", "127.0.0.1"]);
    const app = express().use("/mounted", server.handler());
    assert.deepEqual(await facts(`${await address(app)}/mounted?tenant=acme`), ["ada", "/?tenant=acme", "127.0.0.1"]);
    assert.deepEqual(await facts(server), [undefined, undefined, undefined]);
  });
}

test("next takes the context and the values of middleware to the handler, and gives its meta", async () => {
  const server = whoAsks();
  server.use("tools/call", async ({ params }, next, { vars }) => {
    const { name } = params.arguments;
    vars.set("outer", name);
    const result = await storage.run(name, () => next({ ...params, arguments: {}, _meta: { ...params._meta, "com.example/from": name } }));
    return { ...result, _meta: { "com.example/handler": vars.get("handler") } };
  });
  server.use("tools/call", (_, next, { vars }) => (vars.set("inner", vars.get("outer")), next()));
  server.registerTool("all", {}, async (_, { vars, meta }) => {
    await sleep(5);
    vars.set("handler", storage.getStore());
    return [storage.getStore(), vars.get("inner"), meta["com.example/from"]].join();
  });
  const listener = await server.listen({ port: 0 });
  for (const target of [server, listener.url]) {
    const client = await Client.connect(target);
    const ask = async (name) => {
      const { content, _meta } = await client.callTool("all", { name });
      assert.deepEqual([content[0].text, _meta["com.example/handler"]], [`${name},${name},${name}`, name]);
    };
    await Promise.all(["ada", "bob", "ada", "bob"].map(ask));
    await client.close();
  }
});

test("a client of a server of this process does not keep the process", { timeout: 20_000 }, () => {
  const program = `
    import { Client, Server } from "trunkline";
    const server = new Server({ name: "s", version: "1" });
    server.registerTool("hello", {}, () => "hi");
    const client = await Client.connect(server);
    console.log((await client.callTool("hello")).content[0].text);`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8", timeout: 60_000, cwd: fileURLToPath(new URL("..", import.meta.url)) });
  assert.deepEqual([status, stdout], [0, "hi\n"]);
});

class Pool {
  constructor(log, wait) {
    this.log = log;
    this.wait = wait;
    log.push("open");
  }
  async [Symbol.asyncDispose]() {
    await sleep(this.wait);
    this.log.push("close");
  }
}

test("a lifespan is open from the first call to the last", async () => {
  const log = [];
  const make = () => {
    const server = new Server({ name: "s", version: "1" }, { lifespan: async () => (await sleep(5), new Pool(log, 5)) });
    server.registerTool("use", {}, (_, { lifespan }) => String(log.push("call") && lifespan instanceof Pool));
    return server;
  };
  const use = async (target) => {
    const client = await Client.connect(target);
    for (let call = 0; call < 2; call++) assert.equal((await client.callTool("use")).content[0].text, "true");
    await client.close();
  };
  const ways = {
    memory: async (server) => Promise.all([use(server), use(server)]),
    http: async (server) => use((await server.listen({ port: 0 })).url),
    mounted: async (server) => use(await address(server.handler())),
  };
  for (const [name, way] of Object.entries(ways)) {
    const server = make();
    await way(server);
    await server.close();
    assert.deepEqual(log.filter((text) => text !== "call"), ["open", "close"], name);
    assert.equal(log[0], "open", name);
    assert.equal(log.at(-1), "close", name);
    log.length = 0;
  }
});

test("a lifespan that cannot be opened keeps the server from serving, and is tried again", async () => {
  let tries = 0;
  const lifespan = () => {
    if (++tries === 1) throw new Error("no database");
  };
  const server = new Server({ name: "s", version: "1" }, { lifespan });
  await assert.rejects(Client.connect(server), /no database/);
  const client = await Client.connect(server);
  assert.deepEqual(await client.listTools(), []);
  await client.close();
  await server.close();
});

// AsyncLocalStorage in handlers is that of the request that they serve; lifespans.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { CancelledError, Client, Server, setLogger } from "trunkline";
import { z } from "zod";

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

test("handlers run in the context of an in-memory client's request", async () => {
  // The port of this thread is created here.
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

test("events from a pipe do not run in the context in which the client connected", async () => {
  const client = await storage.run("the one who connects", () => Client.connect(fixture, { revision: "2025-11-25" }));
  const heard = [];
  client.on("notification", () => heard.push(String(storage.getStore())));
  // After a few turns the event loop reads the pipe itself.
  for (let at = 0; at < 30; at++) await storage.run(at, () => client.callTool("echo", { message: "hi" }));
  await storage.run("a caller", () => client.callTool("test_tool_with_logging"));
  assert.deepEqual(heard, ["undefined", "undefined", "undefined"]);
  await client.close();
});

test("progress arrives in the caller's context", async () => {
  const server = new Server({ name: "s", version: "1" });
  server.registerTool("steps", {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    return "done";
  });
  const client = await Client.connect(server);
  const seen = [];
  await storage.run("a caller", () => client.callTool("steps", {}, { onProgress: (progress) => seen.push(storage.getStore(), progress) }));
  assert.deepEqual(seen, ["a caller", { progress: 1, total: 2 }]);
  await client.close();
});

/** A server whose tools return the store of their asynchronous context. */
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

test("a queued call over HTTP+SSE has the context of its own POST", async () => {
  const server = whoAsks({ maxRunning: 1 });
  const url = await address(
    express()
      .use((request, _, next) => storage.run(request.headers["x-user"], next))
      .use("/mounted", server.handler({ sse: "/sse" })),
  );
  const one = async (user) => {
    const client = await Client.connect({ type: "sse", url: `${url}/mounted/sse`, headers: { "X-User": user } }, { revision: "2024-11-05" });
    const told = await Promise.all(Array.from({ length: 5 }, async () => (await client.callTool("who")).text));
    await client.close();
    assert.deepEqual(told, Array(5).fill(`${user} ${user}`));
  };
  await Promise.all(["ada", "bob"].map(one));
});

test("a verifier runs in the context of the request that presents the token", async () => {
  const server = new Server({ name: "s", version: "1" });
  ends.push(() => server.close({ deadline: 0 }));
  server.registerTool("who", {}, (_, { auth }) => `${storage.getStore()} ${auth.subject}`);
  const verifier = async () => {
    await sleep(2);
    return { subject: String(storage.getStore()) };
  };
  const auth = { resource: "https://notes.example/mcp", authorizationServers: ["https://login.example"], verifier };
  const url = await address(
    express()
      .use((request, _, next) => storage.run(request.headers["x-user"], next))
      .use("/mcp", server.handler({ auth })),
  );
  const one = async (user) => {
    const client = await Client.connect(`${url}/mcp`, { headers: { "X-User": user, Authorization: "Bearer x" } });
    for (let call = 0; call < 3; call++) assert.equal((await client.callTool("who")).text, `${user} ${user}`);
    await client.close();
  };
  await Promise.all(["ada", "bob", "ada", "bob"].map(one));
});

for (const revision of revisions) {
  test(`two concurrent users of Express, and of a web-standard request handler, on ${revision}`, async () => {
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

test("next passes the context, the values and the meta of middleware to the handler", async () => {
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

test("error hooks, loggers and result conversions run in the context of the call", async () => {
  const seen = new Set();
  const note = (what, name) => seen.add(`${what} ${name} ${storage.getStore()}`);
  setLogger(({ message }) => note("record", message.split(" ")[1]));
  const server = new Server({ name: "s", version: "1" }, { onError: (_, { name }) => note("hook", name) });
  const result = (name) => ({ toJSON: () => (note("result", name), { name }) });
  server.registerTool("at_once", {}, () => result("at_once"));
  server.registerTool("later", {}, async () => (await sleep(2), result("later")));
  server.registerTool("fails_at_once", {}, () => {
    throw new Error("at once");
  });
  server.registerTool("fails_later", {}, async () => {
    await sleep(2);
    throw new Error("later");
  });
  const client = await Client.connect(server);
  const one = (user) =>
    storage.run(user, async () => {
      for (const name of ["at_once", "later", "fails_at_once", "fails_later"]) await client.callTool(name);
    });
  await Promise.all(["ada", "bob", "ada", "bob"].map(one));
  setLogger();
  const expected = ["ada", "bob"].flatMap((user) => [
    ...["at_once", "later"].map((name) => `result ${name} ${user}`),
    ...["fails_at_once", "fails_later"].flatMap((name) => [`hook ${name} ${user}`, `record ${name} ${user}`]),
  ]);
  assert.deepEqual([...seen].sort(), expected.sort());
  await client.close();
});

test("a schema library explains arguments in the context of the call, without failing next", async () => {
  const server = new Server({ name: "s", version: "1" });
  const name = z.string().min(3, { error: () => `${storage.getStore()} wants three letters` });
  server.registerTool("greet", { inputSchema: z.object({ name }) }, () => "");
  server.use("tools/call", async (_, next) => ({ ...(await next()), _meta: { "com.example/passed": true } }));
  const client = await Client.connect(server);
  const ask = (user) => storage.run(user, () => client.callTool("greet", { name: "a" }));
  const told = await Promise.all(["ada", "bob"].map(ask));
  assert.deepEqual(told.map(({ text }) => text), ["ada", "bob"].map((user) => `Invalid arguments for tool greet: /name: ${user} wants three letters`));
  for (const { _meta } of told) assert.equal(_meta["com.example/passed"], true);
  await client.close();
});

test("a client of an in-process server does not keep the process alive", { timeout: 20_000 }, () => {
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

test("the lifespan of a mounted server opens with its first call, and closes with the outer server", async () => {
  const log = [];
  const inner = new Server({ name: "inner", version: "1" }, { lifespan: async () => (await sleep(5), new Pool(log, 5)) });
  inner.registerTool("use", {}, (_, { lifespan }) => String(log.push("call") && lifespan instanceof Pool));
  const outer = new Server({ name: "outer", version: "1" });
  outer.mount("inner", inner);
  let client = await Client.connect(outer);
  assert.deepEqual(log, []);
  assert.equal((await client.callTool("inner__use")).text, "true");
  await outer.close();
  assert.deepEqual(log, ["open", "call", "close"]);
  // One that is mounted while clients are connected, and one that is no longer mounted.
  const late = new Server({ name: "late", version: "1" });
  client = await Client.connect(late);
  const shown = late.mount("inner", inner);
  assert.equal((await client.callTool("inner__use")).text, "true");
  shown.remove();
  await late.close();
  while (log.length < 6) await sleep(1);
  assert.deepEqual(log.slice(3), ["open", "call", "close"]);
});

test("a lifespan and what it starts belong to no request", async () => {
  const seen = [];
  const note = () => seen.push(storage.getStore());
  const lifespan = async () => {
    await sleep(1);
    note();
    const later = new Promise((resolve) => setTimeout(() => resolve(note()), 5));
    return { [Symbol.asyncDispose]: async () => (await later, note()) };
  };
  const server = new Server({ name: "s", version: "1" }, { lifespan });
  server.registerTool("use", {}, () => storage.getStore());
  const handler = server.handler();
  const client = await Client.connect(await address((request, response) => storage.run("ada", () => handler(request, response))));
  assert.equal((await client.callTool("use")).text, "ada");
  await client.close();
  await storage.run("ada", () => server.close());
  assert.deepEqual(seen, [undefined, undefined, undefined]);
});

test("a server cannot serve while its lifespan fails to open, and retries opening it", async () => {
  const failure = new RangeError("no database");
  let fails = true;
  const lifespan = () => {
    if (fails) throw failure;
  };
  const [server, outer] = [new Server({ name: "s", version: "1" }, { lifespan }), new Server({ name: "outer", version: "1" })];
  server.registerTool("use", {}, () => "used");
  outer.mount("in", server);
  await assert.rejects(Client.connect(server), failure);
  await assert.rejects(server.listen({ port: 0 }), failure);
  const client = await Client.connect(outer);
  await assert.rejects(client.callTool("in__use"), { code: -32603 });
  fails = false;
  assert.equal((await client.callTool("in__use")).text, "used");
  await client.close();
  await outer.close();
  const own = await Client.connect(server);
  assert.equal((await own.callTool("use")).text, "used");
  await own.close();
  await server.close();
});

test("aborting a connection ends an opening that takes long, and the next one opens again", async () => {
  const log = [];
  const lifespan = async () => (await sleep(log.push("opening") === 1 ? 60_000 : 1, undefined, { ref: false }), new Pool(log, 1));
  const server = new Server({ name: "s", version: "1" }, { lifespan });
  const aborting = new AbortController();
  const connecting = Client.connect(server, { signal: aborting.signal });
  while (log.length === 0) await sleep(1);
  aborting.abort();
  await assert.rejects(connecting, CancelledError);
  await (await Client.connect(server)).close();
  assert.deepEqual(log, ["opening", "opening", "open", "close"]);
  await server.close();
});

test("a listener is closed once the lifespan is, and reports if closing it fails", async () => {
  const log = [];
  const server = new Server({ name: "s", version: "1" }, { lifespan: () => new Pool(log, 5) });
  const [one, other] = [await server.listen({ port: 0 }), await server.listen({ port: 0 })];
  await one.close();
  assert.deepEqual(log, ["open"]);
  await other.close();
  assert.deepEqual(log, ["open", "close"]);
  const failing = new Server({ name: "s", version: "1" }, { lifespan: () => ({ [Symbol.dispose]: () => { throw new Error("stuck"); } }) });
  const listener = await failing.listen({ port: 0 });
  await assert.rejects(listener.close(), /stuck/);
  await assert.rejects(failing.close(), /stuck/);
  await assert.rejects(Client.connect(failing), /the server is closed/);
});

const program = (serve) => `
  import { Server } from "trunkline";
  import { setTimeout as sleep } from "node:timers/promises";
  const lifespan = () => (console.error("open"), { [Symbol.asyncDispose]: async () => (await sleep(20), console.error("close")) });
  const server = new Server({ name: "s", version: "1" }, { lifespan });
  ${serve}
  console.error("after");
  process.exit();`;
const ways = {
  stdio: "await server.serveStdio();",
  HTTP: "const listener = await server.listen({ port: 0 }); const end = listener.run(); console.log(listener.url); await end;",
};
// Windows ends processes without asking them.
if (process.platform !== "win32") {
  for (const [name, serve] of Object.entries(ways)) {
    test(`SIGTERM closes the lifespan before the program continues, over ${name}`, { timeout: 60_000 }, async () => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program(serve)], { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: "pipe" });
      try {
        let told = "";
        child.stderr.on("data", (text) => (told += text));
        child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
        await once(child.stdout, "data");
        child.kill("SIGTERM");
        await once(child, "close");
        assert.deepEqual(told.split("\n"), ["open", "close", "after", ""]);
      } finally {
        child.kill("SIGKILL");
      }
    });
  }

  const failing = {
    "its lifespan does": ['[Symbol.dispose]() { throw new Error("stuck"); }', ""],
    "its web server does": ["", '{ close() { throw new Error("stuck"); } }'],
  };
  for (const [name, [value, web]] of Object.entries(failing)) {
    test(`closeOnSignal rejects if closing the server fails because ${name}`, () => {
      const text = `
        import { Client, Server } from "trunkline";
        const server = new Server({ name: "s", version: "1" }, { lifespan: () => ({ ${value} }) });
        await Client.connect(server);
        // Keeps the process alive, as a web server does.
        setInterval(() => {}, 1000);
        setTimeout(() => process.kill(process.pid, "SIGTERM"), 20);
        await server.closeOnSignal(${web}).then(() => console.log("closed"), ({ message }) => console.log("rejected:", message));
        setTimeout(() => (console.log("the rest"), process.exit()), 20);`;
      const run = spawnSync(process.execPath, ["--input-type=module", "--eval", text], { cwd: fileURLToPath(new URL("..", import.meta.url)), encoding: "utf8", timeout: 30_000 });
      assert.deepEqual([run.stdout, run.status], ["rejected: stuck\nthe rest\n", 0], run.stderr);
    });
  }
}

/** Sends calls of several users at the same time; each must get its own user. */
const atOnce = (ask) => Promise.all(["ada", "bob", "ada", "bob"].map((user) => storage.run(user, async () => assert.equal(await ask(), user))));

for (const revision of ["2025-11-25", "2026-07-28"]) {
  test(`a task runs in the context of the request that started it, on ${revision}`, async () => {
    const server = new Server({ name: "s", version: "1" });
    server.registerTool("who", { task: "optional" }, async () => {
      await sleep(2);
      return String(storage.getStore());
    });
    const client = await Client.connect(server, { revision });
    await atOnce(async () => (await (await client.startTask("who")).result()).text);
    await client.close();
  });
}

test("a handler of a mounted server has the context and the values of its request", async () => {
  const [inner, outer] = ["inner", "outer"].map((name) => new Server({ name, version: "1" }));
  inner.registerTool("who", {}, (_, { vars }) => (vars.get("user") === storage.getStore() ? storage.getStore() : "another one"));
  outer.mount("in", inner);
  outer.use("tools/call", (_, next, { vars }) => {
    vars.set("user", storage.getStore());
    return next();
  });
  const client = await Client.connect(outer);
  await atOnce(async () => (await client.callTool("in__who")).text);
  await client.close();
});

test("a handler of an in-process server has the context of its request behind a proxy, too", async () => {
  const [inner, outer] = ["inner", "outer"].map((name) => new Server({ name, version: "1" }));
  inner.registerTool("who", {}, async () => {
    await sleep(2);
    return storage.getStore();
  });
  const between = await storage.run("the one who connects", () => Client.connect(inner));
  outer.proxy(between, { prefix: "in" });
  const client = await Client.connect(outer);
  await atOnce(async () => (await client.callTool("in__who")).text);
  await Promise.all([client.close(), between.close()]);
});

// The server inside web frameworks: node:http, Express, Hono and plain fetch handlers as they are.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request as httpRequest } from "node:http";
import { connect as connectHttp2, constants, createServer as createHttp2Server } from "node:http2";
import { connect } from "node:net";
import { json } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { serve } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { Client, Server, setLogger } from "trunkline";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "auto"];
const accept = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});

/** A server whose tools record what happened to their calls. */
function site(options) {
  const server = new Server({ name: "mounted", version: "1.0.0" }, options);
  const seen = { server, started: 0, cancelled: 0 };
  server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
  server.registerTool("steps", {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    await sleep(20);
    await ctx.progress(2, 2);
    return "done";
  });
  server.registerTool("endless", {}, async (_, ctx) => {
    seen.started++;
    await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => seen.cancelled++);
    return "stopped";
  });
  return seen;
}

async function until(condition) {
  for (const end = Date.now() + 60_000; !condition(); await sleep(5)) assert.ok(Date.now() < end, `waited in vain: ${condition}`);
}

async function listening(server) {
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

const frameworks = {
  "node:http": ({ server }) => createServer(server.handler({ path: "/mcp" })).listen(0, "127.0.0.1"),
  "Express, use": ({ server }) => express().use("/mcp", server.handler()).get("/", ordinary).listen(0, "127.0.0.1"),
  "Express, all": ({ server }) => express().all("/mcp", server.handler()).get("/", ordinary).listen(0, "127.0.0.1"),
  "Express, path of its own, after a parser": ({ server }) =>
    express().use(express.json({ limit: "10mb" })).use(server.handler({ path: "/mcp" })).get("/", ordinary).listen(0, "127.0.0.1"),
  "Hono, mount": ({ server }) => hono((app) => app.all("/mcp/*", mount(server.fetch))),
  "Hono, all": ({ server }) => hono((app) => app.all("/mcp", (c) => server.fetch(c.req.raw)).all("/mcp/", (c) => server.fetch(c.req.raw))),
  "plain fetch": ({ server }) => serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }),
};

function ordinary(_, response) {
  response.send("an ordinary page");
}

function hono(route) {
  const app = new Hono();
  route(app);
  app.get("/", (c) => c.text("an ordinary page"));
  return serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
}

for (const [name, make] of Object.entries(frameworks)) {
  describe(name, () => {
    const seen = site();
    let web;
    let address;

    before(async () => {
      web = make(seen);
      address = await listening(web);
    });

    after(async () => {
      await seen.server.close({ deadline: 0 });
      web.closeAllConnections();
      web.close();
    });

    for (const path of ["/mcp", "/mcp/"]) {
      test(`every revision at ${path}`, async () => {
        for (const revision of revisions) {
          const client = await Client.connect(address + path, { revision });
          const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => client.callTool("echo", { text: `m${i}` })));
          assert.deepEqual(answers.map(({ content }) => content[0].text), answers.map((_, i) => `m${i}`));
          const progress = [];
          await client.callTool("steps", {}, { onProgress: (it) => progress.push(it.progress) });
          // Progress that the loop had no time to take is replaced by later progress.
          assert.deepEqual(progress.slice(-1), [2]);
          await client.close();
        }
        const answer = await fetch(address + path, { method: "POST", headers: accept, body: initialize, redirect: "error" });
        assert.equal((await answer.json()).result.serverInfo.name, "mounted");
      });
    }

    test("a long message in, and a long one out", async () => {
      const text = "äx".repeat(500_000);
      const client = await Client.connect(`${address}/mcp`);
      assert.equal((await client.callTool("echo", { text })).content[0].text, text);
      await client.close();
    });

    if (name !== "plain fetch" && name !== "node:http") {
      test("other pages are left alone", async () => {
        assert.equal(await (await fetch(address)).text(), "an ordinary page");
      });
    }
  });
}

describe("node:http", () => {
  test("only the given path is served, and without next other paths get 404", async () => {
    const { server } = site();
    const web = createServer(server.handler({ path: "/mcp" })).listen(0, "127.0.0.1");
    const address = await listening(web);
    const answer = await fetch(`${address}/other`, { method: "POST", headers: accept, body: initialize });
    assert.equal(answer.status, 404);
    assert.match((await answer.json()).error.message, /\/mcp/);
    web.closeAllConnections();
    web.close();
    await server.close();
  });

  test("an empty body that was already read is answered at once", async () => {
    const { server } = site();
    const handler = server.handler();
    const reading = async (request, response) => {
      await request.toArray();
      handler(request, response);
    };
    for (const listener of [reading, express().use(express.json(), handler)]) {
      const web = createServer(listener).listen(0, "127.0.0.1");
      const answer = await fetch(await listening(web), { method: "POST", headers: accept, body: "", signal: AbortSignal.timeout(10_000) });
      assert.equal(answer.status, 400, await answer.text());
      web.closeAllConnections();
      web.close();
    }
    await server.close();
  });

  test("a number that is too large for a parser is refused as without one", async () => {
    const { server } = site();
    const handler = server.handler();
    const about = { protocolVersion: "2026-07-28", clientInfo: { name: "t", version: "1" }, clientCapabilities: {} };
    const _meta = Object.fromEntries(Object.entries(about).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { text: 5 }, _meta } }).replace(":5}", ":-1e400}");
    const headers = { ...accept, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" };
    const answers = [];
    for (const listener of [handler, express().use(express.json(), handler)]) {
      const web = createServer(listener).listen(0, "127.0.0.1");
      const answer = await fetch(await listening(web), { method: "POST", headers, body });
      answers.push(`${answer.status} ${await answer.text()}`);
      web.closeAllConnections();
      web.close();
    }
    assert.match(answers[0], /number out of range/);
    assert.equal(answers[1].replace(/column \d+/, ""), answers[0].replace(/column \d+/, ""));
    await server.close();
  });

  test("a slow reader does not fill the memory", async () => {
    const { server } = site();
    const length = 25_000_000;
    server.registerTool("long", {}, () => "x".repeat(length));
    const web = createServer(server.handler()).listen(0, "127.0.0.1");
    const address = await listening(web);
    const session = await fetch(address, { method: "POST", headers: accept, body: initialize });
    const headers = { ...accept, accept: "application/json", "mcp-session-id": session.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
    const asking = httpRequest(address, { method: "POST", headers });
    asking.end(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "long" } }));
    const [answer] = await once(asking, "response");
    await sleep(300);
    const held = process.memoryUsage().arrayBuffers;
    assert.ok(held < length / 2, `${held} bytes of chunks are held`);
    let read = 0;
    for await (const chunk of answer) read += chunk.length;
    assert.equal(read, Number(answer.headers["content-length"]));
    assert.ok(read > length);
    web.closeAllConnections();
    web.close();
    await server.close();
  });
});

test("over HTTP/2, a client that disconnects before the handler is called starts nothing", async () => {
  const { server, ...seen } = site();
  server.registerTool("late", {}, () => void seen.started++);
  const handler = server.handler();
  const web = createHttp2Server(async (request, response) => {
    request.body = await json(request);
    if (request.body.method === "tools/call") {
      const closed = once(response, "close");
      stream.close(constants.NGHTTP2_CANCEL);
      await closed;
    }
    handler(request, response);
  }).listen(0, "127.0.0.1");
  const client = connectHttp2(await listening(web));
  const post = (headers, body) => client.request({ ":method": "POST", ...accept, ...headers }).end(body);
  const [head] = await once(post({}, initialize).resume(), "response");
  assert.deepEqual([head[":status"], head.connection], [200, undefined]);
  const session = { "mcp-session-id": head["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
  const stream = post(session, JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "late" } }));
  await once(stream, "close");
  await sleep(200);
  assert.equal(seen.started, 0);
  client.close();
  web.close();
  await server.close({ deadline: 0 });
});

test("clients behind a trusted proxy have a share per address", async () => {
  const { server } = site();
  await assert.rejects(server.listen({ port: 0, trustedProxies: ["proxy.example"] }), /proxy\.example.*10\.0\.0\.0\/8/);
  const listener = await server.listen({ port: 0, trustedProxies: ["127.0.0.1"], rateLimit: 1, rateBurst: 1 });
  const status = async (client) => {
    const response = await fetch(listener.url, { method: "POST", headers: { ...accept, "X-Forwarded-For": client }, body: initialize });
    await response.text();
    return response.status;
  };
  assert.equal(await status("198.51.100.7"), 200);
  assert.equal(await status("203.0.113.9, 198.51.100.7"), 429);
  assert.equal(await status("203.0.113.9"), 200);
  await server.close();
});

describe("fetch", () => {
  const post = (url, more = {}) => new Request(url, { method: "POST", headers: { ...accept, ...more.headers }, body: initialize, ...more.init });

  test("HTTP-03: other hosts are refused unless they are allowed", async () => {
    const { server } = site();
    const refused = await server.fetch(post("https://mcp.example/mcp"));
    assert.equal(refused.status, 403);
    assert.match((await refused.json()).error.message, /allowed hosts/);
    assert.equal((await server.fetch(post("http://localhost/mcp", { headers: { host: "mcp.example" } }))).status, 403);
    assert.equal((await server.fetchHandler({ allowedHosts: ["mcp.example"] })(post("https://mcp.example/mcp"))).status, 200);
    await server.close();
  });

  test("responses without a body", async () => {
    const { server } = site();
    const opened = await server.fetch(post("http://localhost/mcp"));
    assert.equal(opened.headers.get("content-length"), String((await opened.text()).length));
    const headers = { ...accept, "mcp-session-id": opened.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
    const note = new Request("http://localhost/mcp", { method: "POST", headers, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' });
    const accepted = await server.fetch(note);
    assert.deepEqual([accepted.status, accepted.body], [202, null]);
    const ended = await server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers }));
    assert.deepEqual([ended.status, ended.body], [204, null]);
    await server.close();
  });

  test("a stream that is cancelled, or whose request is aborted, ends", async () => {
    const { server } = site();
    const opened = await server.fetch(post("http://localhost/mcp"));
    await opened.text();
    const headers = { accept: "text/event-stream", "mcp-session-id": opened.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
    const first = await server.fetch(new Request("http://localhost/mcp", { headers }));
    assert.equal(first.headers.get("content-type"), "text/event-stream");
    await first.body.cancel();
    const stop = new AbortController();
    const second = await server.fetch(new Request("http://localhost/mcp", { headers, signal: stop.signal }));
    const reading = second.text();
    stop.abort();
    assert.doesNotMatch(await reading, /jsonrpc/);
    const third = await server.fetch(new Request("http://localhost/mcp", { headers }));
    const last = third.text();
    await server.close({ deadline: 100 });
    assert.doesNotMatch(await last, /jsonrpc/, "closing the server ends its streams in good order");
    assert.equal((await server.fetch(post("http://localhost/mcp"))).status, 503);
  });

  test("a response that is dropped before its end ends its call", async () => {
    const { server } = site();
    let cancelled = false;
    server.registerTool("long", {}, async (_, ctx) => {
      await ctx.progress(1);
      await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => (cancelled = true));
    });
    const described = { protocolVersion: "2026-07-28", clientInfo: { name: "t", version: "1" }, clientCapabilities: {} };
    const _meta = { progressToken: 1, ...Object.fromEntries(Object.entries(described).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value])) };
    const headers = { ...accept, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "long" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "long", arguments: {}, _meta } });
    assert.equal((await server.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }))).status, 200);
    await until(() => (gc(), cancelled));
    await server.close();
  });

  test("invalid options throw when they are passed, and problems found later are only logged", async (t) => {
    const { server } = site();
    assert.throws(() => server.fetchHandler({ allowedHosts: "localhost" }), { kind: "invalidArgument", message: 'allowedHosts: must be a list, not "localhost"' });
    const auth = { resource: "http://localhost/mcp", authorizationServers: ["https://auth.example"], verifier: () => null };
    assert.throws(() => server.handler({ auth: { ...auth, verifier: undefined, issuer: 3 } }), { kind: "invalidArgument" });
    assert.throws(() => server.handler({ auth: { ...auth, issuer: "https://auth.example" } }), { kind: "invalidArgument", message: /cannot be combined/ });
    assert.throws(() => server.handler({ auth: { ...auth, verifier: "jwt" } }), { kind: "invalidArgument", message: /must be a function/ });
    const records = [];
    setLogger((record) => records.push(record.message));
    t.after(() => setLogger());
    const handler = server.fetchHandler({ auth });
    const nodeHandler = server.handler({ auth });
    // Opening reads the options again.
    Object.assign(auth, { issuer: 3 });
    for (let again = 0; again < 2; again++) await assert.rejects(handler(post("http://localhost/mcp")), { message: "Internal Server Error" });
    const web = createServer(nodeHandler).listen(0, "127.0.0.1");
    await once(web, "listening");
    const answer = await fetch(`http://127.0.0.1:${web.address().port}/mcp`, { method: "POST", body: "{}" });
    assert.deepEqual([answer.status, await answer.text()], [500, "Internal Server Error"]);
    web.close();
    assert.equal(records.filter((message) => message.startsWith("could not open the server: ") && message.includes("issuer")).length, 3);
    await server.close();
  });

  test("a body that is too long is refused before it is read completely", async () => {
    const { server } = site({ maxMessageBytes: 1000 });
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(600).fill(32));
        if (++pulled > 100) controller.close();
      },
    });
    const answer = await server.fetch(new Request("http://localhost/mcp", { method: "POST", headers: accept, body, duplex: "half" }));
    assert.equal(answer.status, 413);
    assert.ok(pulled < 50);
    await server.close();
  });
});

test("probes next to a path of its own, and none if a framework has chosen the path", async () => {
  const { server } = site();
  const app = express().use(server.handler({ path: "/mcp", health: true })).get("/", ordinary).listen(0, "127.0.0.1");
  const address = await listening(app);
  const statuses = ["/healthz", "/readyz", "/livez"].map(async (path) => (await fetch(address + path)).status);
  assert.deepEqual(await Promise.all(statuses), [200, 200, 404]);
  app.closeAllConnections();
  app.close();
  await server.close();
  assert.throws(() => site().server.handler({ health: true }), { kind: "invalidArgument", message: /health/ });
});

test("the handler sees the headers as middleware has left them", async () => {
  const { server } = site();
  server.registerTool("headers", {}, (_, ctx) => [ctx.headers["x-user"], ctx.headers["x-secret"], ctx.headers["x-count"]].join());
  const adapt = (request, _, next) => {
    Object.assign(request.headers, { "x-user": "ada", "x-count": 7 });
    delete request.headers["x-secret"];
    next();
  };
  const web = express().use(adapt, server.handler()).listen(0, "127.0.0.1");
  const client = await Client.connect(await listening(web), { headers: { "x-secret": "s", "x-user": "eve" } });
  assert.equal((await client.callTool("headers")).text, "ada,,7");
  await client.close();
  web.close();
  await server.close();
});

/** A program with a mounted server; `way` makes its web server. */
const draining = (way) => `
  import { createServer } from "node:http";
  import { setTimeout as sleep } from "node:timers/promises";
  import { serve } from "@hono/node-server";
  import { Server } from "trunkline";
  const server = new Server({ name: "draining", version: "1.0.0" });
  server.registerTool("slow", {}, async (_, ctx) => {
    await ctx.progress(1);
    return sleep(1500, "done");
  });
  const web = ${way};
  if (!web.listening) await new Promise((resolve) => web.once("listening", resolve));
  console.log(web.address().port);
  await server.closeOnSignal(web);
`;

const ways = { "node:http": 'createServer(server.handler()).listen(0, "127.0.0.1")', fetch: 'serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" })' };
for (const [name, way] of Object.entries(ways)) {
  test(`a mounted server that is draining disconnects its clients: ${name}`, { skip: process.platform === "win32" }, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", draining(way)], { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    try {
      const port = Number(await once(child.stdout, "data"));
      const address = `http://127.0.0.1:${port}/mcp`;
      const client = await Client.connect(address);
      // A request whose body is still on its way keeps its connection through the signal.
      const kept = httpRequest(address, { agent: new Agent({ keepAlive: true }), method: "POST", headers: { ...accept, "content-length": Buffer.byteLength(initialize) } });
      kept.write(initialize.slice(0, 10));
      let slow;
      // By then, the process has read both.
      await new Promise((onProgress) => (slow = client.callTool("slow", {}, { onProgress })));
      child.kill("SIGTERM");
      const isRefused = () => new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => resolve(socket.destroy() && false)).on("error", () => resolve(true));
      });
      for (const end = Date.now() + 60_000; !(await isRefused()); await sleep(20)) assert.ok(Date.now() < end, "it still listens");
      kept.end(initialize.slice(10));
      const [answer] = await once(kept, "response");
      assert.deepEqual([answer.statusCode, answer.headers.connection], [200, "close"]);
      answer.resume();
      assert.equal((await slow).text, "done");
      await client.close();
      await assert.rejects(fetch(address), { message: "fetch failed" }, "it does not listen any more");
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });
}

test("a closing or closed server makes its clients open new connections", async (t) => {
  const seen = site();
  const web = createServer(seen.server.handler()).listen(0, "127.0.0.1");
  t.after(() => web.close());
  const address = await listening(web);
  const refused = async () => {
    const answer = await fetch(address, { method: "POST", headers: accept, body: initialize });
    await answer.text();
    return [answer.status, answer.headers.get("connection")];
  };
  const client = await Client.connect(address);
  const call = client.callTool("endless").catch(() => undefined);
  await until(() => seen.started === 1);
  const closed = seen.server.close({ deadline: 300 });
  // A request may overtake the close.
  let answer = await refused();
  for (const end = Date.now() + 30_000; answer[0] === 200 && Date.now() < end; ) answer = await refused();
  assert.deepEqual(answer, [503, "close"]);
  await Promise.all([call, closed]);
  assert.deepEqual(await refused(), [503, "close"]);
  await client.close();
});

test("AUS-02: the metadata named by a challenge is available wherever the server is mounted", async () => {
  const server = new Server({ name: "mounted", version: "1.0.0" });
  for (const [resource, place] of [["https://notes.example/mcp", "/mcp"], ["https://notes.example/api/mcp", "/api/mcp"]]) {
    const auth = { resource, authorizationServers: ["https://auth.example"], verifier: () => { throw new Error("no token is good"); } };
    const listener = express().use(place, server.handler({ auth })).listen(0, "127.0.0.1");
    await once(listener, "listening");
    try {
      const origin = `http://127.0.0.1:${listener.address().port}`;
      const refused = await fetch(origin + place, { method: "POST", headers: accept, body: initialize });
      assert.equal(refused.status, 401);
      const [, url] = /resource_metadata="https:\/\/notes\.example([^"]*)"/.exec(refused.headers.get("www-authenticate"));
      const found = await fetch(origin + url);
      assert.equal(found.status, 200, url);
      assert.equal((await found.json()).resource, resource);
    } finally {
      listener.close();
    }
  }
  await server.close();
});

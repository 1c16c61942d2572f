// Servers in web frameworks, and clients and middleware that are difficult: `tests/mounts.json`.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { connect as connectHttp2, constants, createServer as createHttp2Server } from "node:http2";
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { mount } from "hono/mount";
import { Server } from "trunkline";

const TABLE = JSON.parse(readFileSync(new URL("../../tests/mounts.json", import.meta.url), "utf8"));
const PATH = "/api/v1/mcp";
/** More than the buffers of sockets hold. */
const LARGE_BYTES = 8_000_000;

/** How each framework serves at `PATH`. `around` is the middleware of the case, in both styles. */
const FRAMEWORKS = {
  "node:http": ({ server, options, around, create }) => create({}, around.node(server.handler({ ...options, path: PATH }))),
  Express: ({ server, options, around }) => createServer(express().use(PATH, around.node(server.handler(options)))),
  "Express after a parser": ({ server, options, around }) => createServer(express().use(express.json(), around.node(server.handler({ ...options, path: PATH })))),
  "Hono, mount": ({ server, options, ...web }) => adapted(new Hono().all(`${PATH}/*`, mount(server.fetchHandler(options))), web),
  "Hono, all": ({ server, options, ...web }) => {
    const handle = server.fetchHandler(options);
    return adapted(new Hono().on("POST", [PATH, `${PATH}/`], (context) => handle(context.req.raw)).get(PATH, (context) => handle(context.req.raw)), web);
  },
  fetch: ({ server, options, ...web }) => adapted({ fetch: server.fetchHandler({ ...options, path: PATH }) }, web),
};

function adapted({ fetch }, { around, create }) {
  return createAdaptorServer({ fetch: around.fetch((request, env) => fetch(request, env)), createServer: create });
}

const NO_MIDDLEWARE = { node: (handler) => handler, fetch: (handle) => handle };

/** A promise, and the function that settles it. */
function event() {
  let happen;
  const happened = new Promise((resolve) => (happen = resolve));
  return { happen, happened };
}

/** Waits for the end of a socket or stream, in whatever way. */
async function closed(stream) {
  if (!stream.closed) await new Promise((resolve) => stream.once("close", resolve));
}

/** A mounted server. */
class Site {
  server = new Server({ name: "mounted", version: "1" });
  started = event();
  released = event();
  cancelled = event();
  #sessions = [];

  constructor() {
    const waits = async (_, ctx) => {
      await ctx.progress(1);
      ctx.signal.addEventListener("abort", () => this.cancelled.happen("cancelled"));
      this.started.happen(true);
      return this.released.happened;
    };
    this.server.registerTool("waits", {}, waits);
    this.server.registerTool("large", {}, async (_, ctx) => {
      await ctx.progress(1);
      return "x".repeat(LARGE_BYTES);
    });
    this.server.registerTool("fills", {}, async (given, ctx) => {
      await ctx.progress(1, 2, "x".repeat(LARGE_BYTES));
      return waits(given, ctx);
    });
    this.server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
  }

  async listen(make, { writeTimeoutMs: writeTimeout, ...options }, { around = NO_MIDDLEWARE, create = createServer } = {}) {
    this.web = make({ server: this.server, options: { ...options, ...(writeTimeout && { writeTimeout }) }, around, create });
    this.web.listen(0, "127.0.0.1");
    await once(this.web, "listening");
    this.port = this.web.address().port;
    this.origin = `http://127.0.0.1:${this.port}`;
  }

  request(tool, { headers, body } = call(tool)) {
    return httpRequest(this.origin + PATH, { method: "POST", agent: false, headers: { ...headers, "content-length": body.length } }).on("error", () => {});
  }

  /** The status and headers of a complete response, and its text. */
  async post(tool, { headers, body } = call(tool), path = PATH) {
    const response = await fetch(this.origin + path, { method: "POST", headers, body, redirect: "error" });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async others() {
    const { status, text } = await this.post("echo");
    return status === 200 && text.includes("echoed") ? "served" : text;
  }

  http2() {
    const session = connectHttp2(this.origin);
    this.#sessions.push(session);
    return (tool) => {
      const { headers, body } = call(tool);
      return session.request({ ":method": "POST", ":path": PATH, ...headers }).on("error", () => {}).end(body);
    };
  }

  async close() {
    this.released.happen("released");
    for (const session of this.#sessions) session.destroy();
    this.web.closeAllConnections?.();
    this.web.close();
    await this.server.close({ deadline: 0 });
  }
}

const BOTH = { accept: "application/json, text/event-stream", "content-type": "application/json" };

/** The message of a call, and its headers: of 2026-07-28, or in a session. */
function call(tool, session) {
  const about = { protocolVersion: "2026-07-28", clientInfo: { name: "difficult", version: "1" }, clientCapabilities: {} };
  const described = Object.fromEntries(Object.entries(about).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]));
  const _meta = { progressToken: 1, ...(!session && described) };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: tool, arguments: tool === "echo" ? { text: "echoed" } : {}, _meta } });
  return { body, headers: { ...BOTH, ...(session ?? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool }) } };
}

async function open(site) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "legacy", version: "1" } };
  const { headers } = await site.post("initialize", { headers: BOTH, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }) });
  return { "mcp-session-id": headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
}

/** The plays. Each lets a new site listen, and returns what the client sees. */
const PLAYS = {
  "stuck reader": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const requested = once(site.web, "request");
    // Without listeners, it reads one buffer.
    const client = connect(site.port, "127.0.0.1").on("error", () => {});
    const { headers, body } = call(tool);
    const lines = Object.entries({ host: "127.0.0.1", ...headers, "content-length": body.length }).map(([name, value]) => `${name}: ${value}\r\n`);
    client.write(`POST ${PATH} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    const [{ socket }] = await requested;
    await closed(socket);
    let read = "";
    client.setEncoding("latin1").on("data", (chunk) => (read += chunk));
    await closed(client);
    assert.match(read, /^HTTP\/1.1 200 /);
    return { response: read.length < LARGE_BYTES ? "given up" : "complete", others: await site.others(), ...(tool === "fills" && { call: await site.cancelled.happened }) };
  },

  "stuck reader over HTTP/2": async (site, make, { tool, options }) => {
    await site.listen(make, options, { create: createHttp2Server });
    const opened = once(site.web, "stream");
    const post = site.http2();
    post(tool).pause();
    const [stream] = await opened;
    await closed(stream);
    const others = post("echo");
    return { response: "given up", others: (await textOf(others)).includes("echoed") ? "served" : "refused" };
  },

  "slow reader": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const [response] = await once(site.request(tool).end(call(tool).body), "response");
    let read = 0;
    for await (const chunk of response) {
      read += chunk.length;
      await sleep(30);
    }
    return { response: response.complete && read > LARGE_BYTES ? "complete" : `cut after ${read} bytes` };
  },

  "slow body": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const { body } = call(tool);
    const request = site.request(tool);
    request.write(body.slice(0, 20));
    await once(site.web, "request");
    const others = await site.others();
    const [response] = await once(request.end(body.slice(20)), "response");
    return { response: (await textOf(response)).includes("echoed") ? "complete" : "lost", others };
  },

  "body beyond the limit": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const { headers } = call(tool);
    const request = site.request(tool, { headers, body: { length: 2 * LARGE_BYTES } });
    const responded = once(request, "response");
    request.write(" ".repeat(LARGE_BYTES));
    const [response] = await responded;
    request.destroy();
    return { status: response.statusCode, started: await Promise.race([site.started.happened, false]) };
  },

  "body that never comes": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const { headers } = call(tool);
    const request = site.request(tool, { headers: { ...headers, host: "evil.example" }, body: { length: 10 } });
    request.flushHeaders();
    const [response] = await once(request, "response");
    // A closing server would wait for open requests.
    await site.server.close({ deadline: 600_000 });
    request.destroy();
    return { status: response.statusCode, open: 0 };
  },

  "gone within its body": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const request = site.request(tool);
    request.write(call(tool).body.slice(0, 20));
    await once(site.web, "request");
    request.destroy();
    // A closing server would wait for open requests.
    await site.server.close({ deadline: 600_000 });
    return { started: await Promise.race([site.started.happened, false]), open: 0 };
  },

  // HTTP-24
  gone: async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const request = site.request(tool).end(call(tool).body);
    await site.started.happened;
    request.destroy();
    return { call: await site.cancelled.happened };
  },

  // HTTP-22
  "legacy client gone": async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const session = await open(site);
    const connected = once(site.web, "connection");
    const request = site.request(tool, call(tool, session)).end(call(tool, session).body);
    const [socket] = await connected;
    await site.started.happened;
    request.destroy();
    await closed(socket);
    assert.equal(await Promise.race([site.cancelled.happened, site.others()]), "served");
    const told = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };
    assert.equal((await site.post("cancelled", { headers: { ...BOTH, ...session }, body: JSON.stringify(told) })).status, 202);
    return { call: `${await site.cancelled.happened} by its message` };
  },

  deadline: async (site, make, { tool, options }) => {
    const node = (handler) => (request, response, next) => {
      void site.started.happened.then(() => response.writable && response.writeHead(504).end());
      handler(request, response, next);
    };
    const fetch = (handle) => async (request, env) => {
      const stop = new AbortController();
      const late = site.started.happened.then(() => stop.abort()).then(() => new Response(null, { status: 504 }));
      return Promise.race([handle(new Request(request, { signal: stop.signal }), env), late]);
    };
    await site.listen(make, options, { around: { node, fetch } });
    const { status } = await site.post(tool);
    const cancelled = await site.cancelled.happened;
    site.started = event();
    return { status, call: cancelled, others: await site.others() };
  },

  shutdown: async (site, make, { tool, options }) => {
    await site.listen(make, options);
    const stream = await fetch(site.origin + PATH, { headers: { ...BOTH, ...(await open(site)) } });
    const called = site.post(tool);
    await site.started.happened;
    const closing = site.server.close({ deadline: 600_000 });
    // The stream ends while the call still runs.
    await stream.text();
    const { status, headers } = await site.post("echo");
    site.released.happen("released");
    const { text } = await called;
    await closing;
    return { stream: "ended", call: text.includes("released") ? "complete" : text, meanwhile: status, connection: headers.get("connection") };
  },

  compression: async (site, make, { tool, options }) => {
    const fetch = (handle) => new Hono().use(compress()).all("*", (context) => handle(context.req.raw, context.env)).fetch;
    await site.listen(make, options, { around: { ...NO_MIDDLEWARE, fetch } });
    const request = site.request(tool);
    request.setHeader("accept-encoding", "gzip");
    const [response] = await once(request.end(call(tool).body), "response");
    const [first] = await once(response.setEncoding("utf8"), "data");
    site.released.happen("released");
    const rest = await textOf(response);
    return { events: first.includes("notifications/progress") ? "at once" : "late", call: rest.includes("released") ? "complete" : rest, cacheControl: response.headers["cache-control"] };
  },

  prefix: async (site, make, { tool, options, seen }) => {
    await site.listen(make, options);
    const statuses = Object.keys(seen).map(async (path) => [path, (await site.post(tool, undefined, path)).status]);
    return Object.fromEntries(await Promise.all(statuses));
  },

  "HTTP/2": async (site, make, { tool, options }) => {
    await site.listen(make, options, { create: createHttp2Server });
    const post = site.http2();
    const headOf = async () => (await once(post("echo").resume(), "response"))[0];
    const { ":status": status } = await headOf();
    const leaving = post(tool);
    await site.started.happened;
    leaving.close(constants.NGHTTP2_CANCEL);
    const cancelled = await site.cancelled.happened;
    await site.server.close({ deadline: 0 });
    const { ":status": meanwhile, connection = null } = await headOf();
    return { status, call: cancelled, meanwhile, connection };
  },
};

for (const [framework, make] of Object.entries(FRAMEWORKS)) {
  describe(framework, { concurrency: true }, () => {
    for (const row of TABLE.filter(({ lacks }) => !lacks?.[framework])) {
      test(`${framework}: ${row.name}`, { timeout: 60_000 }, async () => {
        const site = new Site();
        try {
          assert.deepEqual(await PLAYS[row.play](site, make, row), row.seen);
        } finally {
          await site.close();
        }
      });
    }
  });
}

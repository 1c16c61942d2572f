// Custom methods: clients send them unchanged, and servers answer them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, Server, ToolError } from "trunkline";
import { z } from "zod";

const opened = {
  initialize: (protocolVersion) => ({
    protocolVersion,
    capabilities: {},
    serverInfo: { name: "vendor", version: "1" },
  }),
  "server/discover": (version) => ({
    resultType: "complete",
    supportedVersions: [version],
    capabilities: {},
    ttlMs: 0,
    cacheScope: "private",
  }),
};

/** The transport to a server with a custom method, which returns its params. */
class Vendor {
  answers = [];
  wake = () => {};

  constructor(revision) {
    this.revision = revision;
  }

  connect() {}

  close() {
    this.wake();
  }

  send(message) {
    const { id, method, params } = JSON.parse(message);
    if (id === undefined) return;
    const answer = { jsonrpc: "2.0", id };
    if (method === "com.acme/echo") {
      delete params._meta;
      answer.result = { resultType: "complete", given: params };
    } else if (method in opened) answer.result = opened[method](this.revision);
    else answer.error = { code: -32601, message: `no ${method} here`, data: { known: ["com.acme/echo"] } };
    this.answers.push(JSON.stringify(answer));
    this.wake();
  }

  async receive() {
    if (this.answers.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.answers.shift();
  }
}

for (const revision of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
  test(`EXT-10: a vendor's method reaches its server, ${revision}`, async (t) => {
    const client = await Client.connect(new Vendor(revision), { revision });
    t.after(() => client.close());
    const params = { deep: [1, { b: null, a: "\u00e9" }], text: "x" };
    const { given } = await client.request("com.acme/echo", params);
    assert.deepEqual(given, params);
    assert.deepEqual(Object.keys(given.deep[1]), ["b", "a"]);
    await assert.rejects(client.request("com.acme/other"), { kind: "protocol", code: -32601, message: /no com\.acme\/other here/, data: { known: ["com.acme/echo"] } });
    assert.deepEqual((await client.request("com.acme/echo", {})).given, {}, "the connection stays open");
  });

  test(`EXT-10: a request outside the protocol has a handler, ${revision}`, async (t) => {
    const server = new Server({ name: "sums", version: "1" });
    t.after(() => server.close());
    const paramsSchema = z.object({ terms: z.array(z.number()) });
    server.registerRequestHandler("com.acme/sum", { paramsSchema }, async ({ terms }, ctx) => {
      await ctx.progress(1, 2);
      return { sum: terms.reduce((sum, term) => sum + term, 0), revision: ctx.revision };
    });
    const coerced = z.object({ n: z.coerce.number(), unit: z.preprocess((unit) => unit ?? "m", z.string()) });
    server.registerRequestHandler("com.acme/coerced", { paramsSchema: coerced }, (params) => params);
    const echo = server.registerRequestHandler("com.acme/echo", {}, (params) => params);
    server.registerRequestHandler("com.acme/nothing", { timeout: 60_000, scopes: ["none.are.verified"] }, () => undefined);
    server.registerRequestHandler("com.acme/number", {}, () => 7);
    server.registerRequestHandler("com.acme/told", {}, () => {
      throw new ToolError("out of paper");
    });
    server.use("com.acme/sum", async (request, next) => {
      const result = await next();
      return { ...result, twice: 2 * result.sum };
    });
    const client = await Client.connect(server, { revision });
    const told = [];
    const result = await client.request("com.acme/sum", { terms: [1, 20] }, { onProgress: (progress) => told.push(progress) });
    assert.deepEqual([result.sum, result.twice, result.revision, told.length], [21, 42, revision, 1]);
    for (const wrong of [{ terms: ["x"] }, {}]) {
      await assert.rejects(client.request("com.acme/sum", wrong), { kind: "protocol", code: -32602, message: /com\.acme\/sum.*terms/s });
    }
    const { n, unit } = await client.request("com.acme/coerced", { n: "5" });
    assert.deepEqual([n, unit], [5, "m"]);
    assert.deepEqual((await client.request("com.acme/echo", { a: { b: null } })).a, { b: null });
    const nothing = Object.keys(await client.request("com.acme/nothing"));
    assert.deepEqual(nothing.filter((name) => !["_meta", "resultType"].includes(name)), []);
    await assert.rejects(client.request("com.acme/number"), { code: -32603 });
    await assert.rejects(client.request("com.acme/told"), { code: -32603, message: /out of paper/ });
    echo.remove();
    await assert.rejects(client.request("com.acme/echo"), { code: -32601 });
    await client.close();
  });

  test(`EXT-03: a server refuses methods that it does not know, ${revision}`, async () => {
    const server = new Server({ name: "plain", version: "1" });
    const client = await Client.connect(server, { revision });
    await assert.rejects(client.request("com.acme/echo", { a: 1 }), { kind: "protocol", code: -32601 });
    await client.close();
    await server.close();
  });
}

test("a method of another revision is not sent", async () => {
  const server = new Server({ name: "plain", version: "1" });
  const client = await Client.connect(server, { revision: "2025-11-25" });
  await assert.rejects(client.request("server/discover"), { message: /server\/discover/ });
  await client.close();
  await server.close();
});

test("protocol methods cannot have a request handler", async (t) => {
  const server = new Server({ name: "sums", version: "1" });
  t.after(() => server.close());
  for (const [method, message] of [
    ["tools/call", /is a method of the protocol/],
    ["tools/sum", /the prefix "tools" is reserved by the protocol/],
    ["sum", /needs a prefix/],
  ]) {
    assert.throws(() => server.registerRequestHandler(method, {}, () => undefined), { kind: "invalidArgument", message });
  }
  server.registerRequestHandler("com.acme/sum", {}, () => undefined);
  assert.throws(() => server.registerRequestHandler("com.acme/sum", {}, () => undefined), { message: /already registered/ });
  assert.throws(() => server.registerRequestHandler("com.acme/other", {}, "no function"), { message: /must be a function/ });
});

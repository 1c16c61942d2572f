// The end of a server's clients, calls and handlers when it closes, and of removed features.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import express from "express";
import { Client, ClosedError, Server } from "trunkline";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const info = { name: "s", version: "1" };

async function until(condition) {
  for (const end = Date.now() + 60_000; !condition(); await sleep(10)) assert.ok(Date.now() < end, `waited in vain: ${condition}`);
}

/** Lets the core continue while this thread receives no events. */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A promise that is resolved from outside. */
function promised() {
  let fulfil;
  const promise = new Promise((resolve) => (fulfil = resolve));
  return { promise, fulfil };
}

test("handlers are freed when they are removed or their server closes", async () => {
  const kept = [];
  const handler = () => {
    const answer = () => "hi";
    kept.push(new WeakRef(answer));
    return answer;
  };
  const server = new Server(info);
  server.registerTool("removed", {}, handler()).remove();
  server.registerTool("kept", {}, handler());
  server.registerPrompt("p", {}, handler());
  const client = await Client.connect(server);
  assert.equal((await client.callTool("kept")).content[0].text, "hi");
  await server.close();
  await until(() => {
    gc();
    return kept.every((handler) => handler.deref() === undefined);
  });
});

test("the context of a request is freed once the request can cause no more calls", async () => {
  const [storage, kept] = [new AsyncLocalStorage(), []];
  const server = new Server(info);
  server.registerTool("t", {}, () => "hi");
  const client = await Client.connect(server);
  // Node.js itself keeps the context in which it makes its first response.
  await new Response("").text();
  const inContext = (run) => {
    const user = {};
    kept.push(new WeakRef(user));
    return storage.run(user, run);
  };
  for (let call = 0; call < 5; call++) {
    await inContext(() => client.callTool("t"));
    await inContext(async () => (await server.fetch(new Request("http://localhost/mcp"))).text());
  }
  await until(() => {
    gc();
    return kept.every((user) => user.deref() === undefined);
  });
  await server.close();
});

test("a call admitted before its tool was removed is answered", async () => {
  const server = new Server(info);
  const tool = server.registerTool("t", {}, () => "just in time");
  const client = await Client.connect(server);
  const answer = client.callTool("t");
  block(200); // The call is in the queue now.
  tool.remove();
  assert.deepEqual((await answer).content, [{ type: "text", text: "just in time" }]);
  await assert.rejects(client.callTool("t"), { code: -32602 });
  await server.close();
});

test("in-memory clients: calls in flight get the deadline, then the connection ends", async () => {
  const server = new Server(info);
  const { promise, fulfil } = promised();
  const started = promised();
  server.registerTool("wait", {}, () => (started.fulfil(), promise));
  const client = await Client.connect(server);
  const ended = once(client, "close");
  const answer = client.callTool("wait");
  await started.promise;
  const closed = server.close({ deadline: 60_000 });
  await assert.rejects(client.callTool("wait"), ClosedError);
  await assert.rejects(Client.connect(server), ClosedError);
  fulfil("done");
  assert.equal((await answer).content[0].text, "done");
  await closed;
  assert.deepEqual(await ended, [undefined]);
  await assert.rejects(client.callTool("wait"), ClosedError);
  assert.throws(() => server.registerTool("late", {}, () => ""), ClosedError);
  await server.close();
});

test("in-memory clients: calls are aborted after the deadline", async () => {
  const server = new Server(info);
  const started = promised();
  let aborted = false;
  server.registerTool("wait", {}, (_, ctx) => {
    ctx.signal.onabort = () => (aborted = true);
    started.fulfil();
    return new Promise(() => {});
  });
  const client = await Client.connect(server);
  const answer = client.callTool("wait").catch((error) => error);
  await started.promise;
  await server.close({ deadline: 50 });
  assert.ok((await answer) instanceof ClosedError);
  await until(() => aborted);
});

test("a client that never connected does not keep its server from closing", async () => {
  const server = new Server(info);
  await assert.rejects(Client.connect(server, { signal: AbortSignal.abort() }), { kind: "cancelled" });
  await assert.rejects(Client.connect(server, { revision: "1999-01-01" }), { kind: "invalidArgument" });
  await server.close();
});

test("connecting that is aborted after the response arrived yields no client", async () => {
  const server = new Server(info);
  const giving = new AbortController();
  const connecting = Client.connect(server, { signal: giving.signal });
  block(200); // The answer is in the queue now.
  giving.abort();
  await assert.rejects(connecting, { kind: "cancelled" });
  await server.close();
});

for (const [name, host] of Object.entries({
  "node:http": (handler) => createServer(handler),
  "node:http, with next": (handler) => createServer((request, response) => handler(request, response, (error) => response.writeHead(error ? 500 : 404).end())),
  Express: (handler) => createServer(express().use("/mcp", handler)),
})) {
  test(`a mounted server does not reopen while it is closing: ${name}`, async () => {
    const server = new Server(info);
    const { promise, fulfil } = promised();
    const started = promised();
    let running = 0;
    server.registerTool("wait", {}, () => (++running === 2 && started.fulfil(), promise));
    const web = host(server.handler()).listen(0, "127.0.0.1");
    await once(web, "listening");
    const url = `http://127.0.0.1:${web.address().port}/mcp`;
    const ask = async () => (await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" } })).status;
    const client = await Client.connect(url, { revision: "2025-11-25" });
    const answer = client.callTool("wait");
    // The mounted listener has nothing to wait for once its call is over, but this one does.
    const other = await server.listen({ port: 0 });
    const near = await Client.connect(other.url, { revision: "2025-11-25" });
    const slow = near.callTool("wait");
    await started.promise;
    const closed = server.close({ deadline: 60_000 });
    assert.equal(await ask(), 503);
    fulfil("done");
    assert.equal((await answer).content[0].text, "done");
    assert.equal((await slow).content[0].text, "done");
    await closed;
    assert.equal(await ask(), 503);
    const plain = await server.fetch(new Request(url, { method: "POST", body: "{}" }));
    assert.equal(plain.status, 503);
    await client.close();
    await near.close();
    web.closeAllConnections();
    await new Promise((resolve) => web.close(resolve));
  });
}

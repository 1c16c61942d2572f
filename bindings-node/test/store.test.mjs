// State that outlives a process: the option `store`, with real processes.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { BusyError, Client, InvalidArgumentError, ProtocolError, Server } from "trunkline";
import { freePort } from "../test-support/free-port.mjs";
import { withProcess } from "../test-support/process.mjs";
import { sharedStores, withRedis } from "../test-support/redis.mjs";

const timeoutMs = 30_000;
const WORKER = `
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "trunkline";
const server = new Server({ name: "reports", version: "1" }, { store: process.argv[2], taskPollInterval: 20, drainDeadline: 2000 });
server.registerTool("report", { task: "optional" }, () => "the report");
server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
server.registerTool("wait", { task: "required", inputSchema: { type: "object" } }, async ({ ms }) => (await sleep(ms), "done"));
const listener = await server.listen({ port: 0 });
console.log(listener.url);
await listener.run();
`;
const opening = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };

async function withFolder(use) {
  const folder = mkdtempSync(join(import.meta.dirname, "tmp-store-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs with the URL of a process that serves; its program finds the package as the tests do. */
async function withWorker(folder, store, use) {
  const program = join(folder, "worker.mjs");
  writeFileSync(program, WORKER);
  await withProcess(process.execPath, [program, store], async (child) => {
    const [url] = await once(createInterface({ input: child.stdout }), "line", { signal: AbortSignal.timeout(timeoutMs) });
    await use(url, child);
  });
}

/** A legacy request: status, session and message of its response. */
async function post(url, session, method, params) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...(session && { "mcp-session-id": session }) };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(timeoutMs) });
  return { status: response.status, session: response.headers.get("mcp-session-id"), message: await response.json() };
}

for (const kind of sharedStores) {
  const withWorkers = (use) =>
    withFolder((folder) => {
      const start = (store) => withWorker(folder, store, (one, child) => withWorker(folder, store, (other) => use(one, other, child)));
      return kind === "redis" ? withRedis(start) : start(`sqlite:${join(folder, "state.db")}`);
    });

  test(`a task of one process can be fetched from another: ${kind}`, () =>
    withWorkers(async (one, other) => {
      const client = await Client.connect(new URL(one));
      const task = await client.startTask("report");
      assert.equal((await task.result()).text, "the report");
      await client.close();
      const elsewhere = await Client.connect(new URL(other));
      assert.equal((await (await elsewhere.resumeTask(task.id)).result()).text, "the report");
      await elsewhere.close();
    }));

  test(`tasks of a process that is shutting down get the drain deadline, as calls do: ${kind}`, () =>
    withWorkers(async (one, other, child) => {
      const client = await Client.connect(new URL(one));
      const [short, long] = [await client.startTask("wait", { ms: 500 }), await client.startTask("wait", { ms: 60_000 })];
      child.kill("SIGTERM");
      await once(child, "exit", { signal: AbortSignal.timeout(timeoutMs) });
      const elsewhere = await Client.connect(new URL(other));
      assert.equal((await (await elsewhere.resumeTask(short.id)).result()).text, "done");
      await assert.rejects((await elsewhere.resumeTask(long.id)).result(), (error) => {
        assert.ok(error instanceof ProtocolError);
        assert.deepEqual([error.code, error.data], [-32603, { reason: "interrupted" }]);
        return true;
      });
      assert.equal((await elsewhere.getTask(long.id)).status, "failed");
      await Promise.all([client.close(), elsewhere.close()]);
    }));

  test(`another process can serve a session: ${kind}`, () =>
    withWorkers(async (one, other) => {
      const { status, session } = await post(one, null, "initialize", opening);
      assert.equal(status, 200);
      const { message } = await post(other, session, "tools/call", { name: "echo", arguments: { text: "here" } });
      assert.equal(message.result.content[0].text, "here");
    }));
}

for (const store of ["memory:", undefined]) {
  test(`a process keeps its own tasks with the store ${store}`, async () => {
    const [server, other] = [0, 1].map(() => new Server({ name: "reports", version: "1" }, { store, taskPollInterval: 20 }));
    for (const one of [server, other]) one.registerTool("report", { task: "optional" }, () => "the report");
    const [client, elsewhere] = [await Client.connect(server), await Client.connect(other)];
    try {
      const task = await client.startTask("report");
      assert.equal((await task.result()).text, "the report");
      await assert.rejects(elsewhere.resumeTask(task.id), (error) => error instanceof ProtocolError && error.message.includes("Unknown or expired task"));
    } finally {
      await Promise.all([client.close(), elsewhere.close(), server.close(), other.close()]);
    }
  });
}

for (const [url, problem] of [
  ["mysql://user:secret@host/x", "store mysql://host/x cannot be used this way: supported URLs are memory:"],
  ["sqlite:", "the path of the file is missing"],
  ["redis://user:secret@host?namespace=a:b", "namespace must have 1 to 64 letters"],
]) {
  test(`an invalid store URL is refused immediately: ${problem}`, () => {
    const make = () => new Server({ name: "reports", version: "1" }, { store: url });
    assert.throws(make, (error) => error instanceof InvalidArgumentError && error.message.includes(problem) && !error.message.includes("secret"));
  });
}

test("while Redis is unreachable, calls that need it are refused as busy and others continue", () =>
  withFolder(async (folder) => {
    await withWorker(folder, `redis://user:secret@127.0.0.1:${await freePort()}`, async (url) => {
      const client = await Client.connect(new URL(url));
      await assert.rejects(client.startTask("report"), (error) => error instanceof BusyError && error.message === "Busy: the store of tasks is not available");
      assert.equal((await client.callTool("echo", { text: "here" })).text, "here");
      await client.close();
      const { status, session, message } = await post(url, null, "initialize", opening);
      assert.deepEqual([status, session], [503, null]);
      assert.ok(message.error.message.endsWith("the store of sessions is not available"), message.error.message);
    });
  }));

// Each thread has its own port.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { Client, Server } from "trunkline";

const program = new URL("../test-programs/worker.mjs", import.meta.url);

test("a worker serves, calls, and exits by itself", async () => {
  const server = new Server({ name: "main", version: "1.0.0" });
  server.registerTool("whoami", {}, () => "main");
  const listener = await server.listen({ port: 0 });
  try {
    const workers = [0, 1, 2].map(() => new Worker(program, { workerData: { mode: "work", url: listener.url } }));
    const results = await Promise.all(workers.map(async (worker) => {
      const exit = once(worker, "exit");
      const [answers] = await once(worker, "message");
      return [answers, await exit];
    }));
    for (const result of results) assert.deepEqual(result, [["main", "worker"], [0]]);
  } finally {
    await server.close();
  }
});

test("a client in the main thread calls a listener in a worker, which is then terminated", async () => {
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(program, { workerData: { mode: "serve" } });
    const [url] = await once(worker, "message");
    const client = await Client.connect(url, { revision: "2025-11-25" });
    assert.equal((await client.callTool("whoami")).content[0].text, "worker");
    const waiting = once(worker, "message");
    const pending = client.callTool("wait").catch((error) => error);
    assert.deepEqual(await waiting, ["waiting"]);
    await worker.terminate();
    const { data } = await pending;
    await client.close();
    assert.deepEqual(data, { reason: "interrupted" });
  }
});

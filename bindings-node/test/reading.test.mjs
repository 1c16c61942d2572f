// Host-driven reads: the event loop reads a pipe while its messages arrive one by one.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

import { Client } from "trunkline";

import { countReads } from "../test-programs/reads.mjs";

const program = (name) => fileURLToPath(new URL(`../test-programs/${name}`, import.meta.url));
const server = [process.execPath, program("reading-server.mjs")];
const leaving = program("reading-client.mjs");
const reads = countReads();
const options = { skip: process.platform === "win32" && "event loops there do not watch pipes" };

async function echo(client, message) {
  assert.equal((await client.callTool("echo", { message })).content[0].text, message);
}

/** Calls until the event loop reads. */
async function handedOver(client) {
  const { count } = reads;
  for (let i = 0; i < 500 && reads.count === count; i++) await echo(client, String(i));
  assert.notEqual(reads.count, count, "the event loop does not read");
}

async function connected(use) {
  const client = await Client.connect(server);
  try {
    await handedOver(client);
    await use(client);
  } finally {
    await client.close();
  }
}

test("both sides read on their event loops", options, async () => {
  await connected(async (client) => {
    const { count } = reads;
    for (let i = 0; i < 100; i++) await echo(client, String(i));
    assert.ok(reads.count - count > 50, `${reads.count - count} reads`);
    assert.ok(Number((await client.callTool("reads")).content[0].text) > 50);
  });
});

test("TRUNKLINE_HOST_READS=0 leaves reading to the core", options, async () => {
  const [command, ...args] = server;
  const client = await Client.connect({ command, args, env: { TRUNKLINE_HOST_READS: "0" } });
  for (let i = 0; i < 200; i++) await echo(client, String(i));
  assert.equal((await client.callTool("reads")).content[0].text, "0");
  await client.close();
});

test("many messages at once, and then one by one again", options, async () => {
  await connected(async (client) => {
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => echo(client, String(i))));
      await handedOver(client);
    }
  });
});

test("a message in many pieces", options, async () => {
  await connected(async (client) => {
    for (const size of [1000, 65_536, 70_000, 3_000_000]) await echo(client, "m".repeat(size));
  });
});

test("a blocked event loop does not stop reads", options, async () => {
  await connected(async (client) => {
    const blocked = client.callTool("block");
    await sleep(50);
    const started = Date.now();
    await client.ping(); // is answered by the core of the server
    assert.ok(Date.now() - started < 1200, `${Date.now() - started} ms`);
    assert.equal((await blocked).content[0].text, "blocked");
    // And this one's, while both send much.
    const flood = Array.from({ length: 300 }, () => echo(client, "f".repeat(50_000)));
    for (const end = Date.now() + 300; Date.now() < end; );
    await Promise.all(flood);
  });
});

test("a server that dies during a call fails it", options, async () => {
  const client = await Client.connect(server, { reconnect: false });
  await handedOver(client);
  const closed = once(client, "close");
  await assert.rejects(client.callTool("die"), { kind: "transport", message: /beans/ });
  assert.equal((await closed)[0].kind, "transport");
  await client.close();
});

test("the next call restarts a server that died", options, async () => {
  const client = await Client.connect(server);
  await handedOver(client);
  await assert.rejects(client.callTool("die"), { kind: "transport", message: /beans/ });
  await handedOver(client);
  await client.close();
});

test("closing a client during a call", options, async () => {
  const client = await Client.connect(server);
  await handedOver(client);
  const hanging = client.callTool("hang").catch((error) => error);
  await client.close();
  assert.equal((await hanging).kind, "closed");
});

for (const [how, status] of [["exit", 0], ["throw", 1], ["close", 0]]) {
  test(`a process ends by ${how} while its event loop reads, with calls in flight`, options, () => {
    for (let i = 0; i < 3; i++) {
      const run = spawnSync(process.execPath, [leaving, how], { encoding: "utf8", timeout: 30_000 });
      assert.deepEqual([run.status, run.signal], [status, null], run.stderr);
      assert.equal(/on purpose/.test(run.stderr), how === "throw", run.stderr);
    }
  });

  test(`a worker ends by ${how === "throw" ? "being terminated" : how} while its event loop reads`, options, async () => {
    for (let i = 0; i < 3; i++) {
      const worker = new Worker(leaving, { workerData: { how: how === "throw" ? "wait" : how } });
      const exit = once(worker, "exit");
      await once(worker, "message");
      if (how === "throw") await worker.terminate();
      await exit;
    }
  });
}

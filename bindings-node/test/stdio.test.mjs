// Servers that are child processes.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

const program = (name) => fileURLToPath(new URL(name, import.meta.url));
const fixture = program("../../tests/fixtures/node/server.mjs");
const noisy = program("../test-programs/noisy-server.mjs");
const node = process.execPath;

for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "auto"]) {
  test(`the fixture server over stdio, revision ${revision}`, async () => {
    const client = await Client.connect([node, fixture, "--stdio"], { revision });
    try {
      // Pinned to the newest revision, a client asks nobody before its first request.
      if (revision !== "2026-07-28") assert.equal(client.serverInfo.name, "trunkline-fixture-node");
      assert.equal((await client.callTool("add_numbers", { a: 2, b: 3 })).content[0].text, "5");
    } finally {
      await client.close();
    }
  });
}

test("the fixture client prints a line for each revision", () => {
  const run = spawnSync(node, [program("../../tests/fixtures/node/client.mjs"), "--matrix", "--stdio", node, fixture, "--stdio"], { encoding: "utf8", timeout: 60_000 });
  assert.equal(run.status, 0, run.stderr);
  const lines = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ revision, ok }) => [revision, ok]), ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"].map((revision) => [revision, true]));
});

test("what a server prints does not disturb the protocol", async () => {
  const client = await Client.connect({ command: node, args: [noisy], env: { NOISE: "loud" } });
  try {
    assert.equal((await client.callTool("noise")).content[0].text, "loud");
  } finally {
    await client.close();
  }
});

test("a server that does not exit by itself is ended after the close timeout", async () => {
  const client = await Client.connect({ command: node, args: [noisy], env: { STAYS: "1" } }, { closeTimeout: 100 });
  const begun = performance.now();
  await client.close();
  // By default it would have 2 s.
  assert.ok(performance.now() - begun < 1500, "the option was not used");
});

test("a server inherits a short list of the environment, or all of it", async () => {
  process.env.NOISE = "inherited";
  try {
    for (const [inheritEnv, heard] of [[undefined, "quiet"], [true, "inherited"]]) {
      const client = await Client.connect({ command: node, args: [noisy], inheritEnv });
      assert.equal((await client.callTool("noise")).content[0].text, heard);
      await client.close();
    }
  } finally {
    delete process.env.NOISE;
  }
});

test("a server ends when stdin ends", async () => {
  const child = spawn(node, [fixture, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  child.stdout.resume();
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("a program that does not exist is a transport error", async () => {
  await assert.rejects(Client.connect(["/does/not/exist"]), { name: "TransportError", message: /\/does\/not\/exist/ });
});

test("a server that dies is a transport error with its last words", async () => {
  await assert.rejects(Client.connect([node, "-e", 'console.error("out of beans"); process.exit(3)']), (error) => {
    assert.equal(error.kind, "transport", error.message);
    assert.deepEqual([error.reason, error.exitCode, error.signal, error.stderr], ["exited", 3, undefined, ["out of beans"]]);
    return /out of beans/.test(error.message);
  });
});

test("a server that dies during a call fails it, and the client hears of it", async () => {
  const client = await Client.connect([node, noisy], { reconnect: false });
  assert.equal(client.isConnected, true);
  const closed = once(client, "close");
  await assert.rejects(client.callTool("die"), { kind: "transport", message: /beans/ });
  const [error] = await closed;
  assert.equal(error.kind, "transport");
  assert.equal(client.isConnected, false);
  // The first cause, however late the call.
  await assert.rejects(client.callTool("echo"), { kind: "closed", message: /beans/ });
  await client.close();
});

test("connecting can be given up", async () => {
  const silent = [node, "-e", "setInterval(() => {}, 1000)"];
  await assert.rejects(Client.connect(silent, { signal: AbortSignal.timeout(100) }), { name: "CancelledError" });
  await assert.rejects(Client.connect(silent, { signal: AbortSignal.abort() }), { name: "CancelledError" });
  await assert.rejects(Client.connect(silent, { connectTimeout: 100, revision: "2025-11-25" }), { name: "TimeoutError" });
});

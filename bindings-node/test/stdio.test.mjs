// Servers that are child processes.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
      // A client pinned to the newest revision sends nothing before its first request.
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

test("output printed by a server does not disturb the protocol", async () => {
  const client = await Client.connect({ command: node, args: [noisy], env: { NOISE: "loud" } });
  try {
    assert.equal((await client.callTool("noise")).content[0].text, "loud");
  } finally {
    await client.close();
  }
});

test("output printed right after serveStdio, or by its lifespan, goes to stderr", () => {
  const source = `
    import { execFileSync } from "node:child_process";
    import { Server } from "trunkline";
    const lifespan = async () => {
      execFileSync("echo", ["a child of the lifespan"], { stdio: "inherit" });
      await new Promise(setImmediate);
      console.log("the lifespan");
    };
    new Server({ name: "s", version: "1" }, { lifespan }).serveStdio();
    console.log("right after");
    await 0;
    console.log("one turn later");
  `;
  const input = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const run = spawnSync(node, ["--input-type=module", "--eval", source], { cwd: import.meta.dirname, input, encoding: "utf8", timeout: 60_000 });
  assert.deepEqual([run.status, JSON.parse(run.stdout).id], [0, 1], run.stdout);
  for (const line of ["a child of the lifespan", "the lifespan", "right after", "one turn later"]) assert.ok(run.stderr.includes(line), run.stderr);
});

test("a server that does not exit by itself is terminated after the close timeout", async () => {
  const client = await Client.connect({ command: node, args: [noisy], env: { STAYS: "1" } }, { closeTimeout: 100 });
  const { pid } = client;
  await client.close();
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("a server has the close timeout to exit by itself", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    const stderrFile = join(folder, "stderr");
    // By default it would have 2 s.
    const client = await Client.connect({ command: node, args: [noisy], env: { LEAVES_AFTER: "3000" }, stderrFile }, { closeTimeout: 60_000 });
    await client.close();
    assert.match(readFileSync(stderrFile, "utf8"), /left by itself/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a server inherits a few environment variables, or all of them", async () => {
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

test("a server that dies is a transport error with its last output", async () => {
  await assert.rejects(Client.connect([node, "-e", 'console.error("out of beans"); process.exit(3)']), (error) => {
    assert.equal(error.kind, "transport", error.message);
    assert.deepEqual([error.reason, error.exitCode, error.signal, error.stderr], ["exited", 3, undefined, ["out of beans"]]);
    return /out of beans/.test(error.message);
  });
});

test("L9: the last output of a server contains no terminal escapes", async () => {
  const words = "\\u001b]0;a title\\u0007\\u001b[2J\\u009b31mout of\\r\\b beans\\u202e\\tat last";
  const target = { command: node, args: ["-e", `console.error("${words}"); process.exit(3)`], stderr: "keep" };
  await assert.rejects(Client.connect(target), (error) => {
    assert.deepEqual(error.stderr, ["out of beans\tat last"]);
    // eslint-disable-next-line no-control-regex -- they are what must not be there
    assert.doesNotMatch(error.message, /[\u001b\u0007\b\u009b\r\u202e]/);
    return /out of beans\tat last/.test(error.message);
  });
});

test("T5: a host that does not read stderr blocks nothing", { timeout: 60_000 }, async () => {
  const server = spawn(node, [program("../test-programs/failing-server.mjs")], { stdio: ["pipe", "pipe", "pipe"] });
  server.stderr.pause();
  try {
    const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    for (let id = 0; id < 300; id++) {
      server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "fail", arguments: {}, _meta } })}\n`);
      const answer = JSON.parse((await answers.next()).value);
      assert.deepEqual([answer.id, answer.result.isError], [id, true]);
    }
    const ended = once(server, "exit");
    server.stdin.end();
    assert.deepEqual(await ended, [0, null]);
  } finally {
    server.kill("SIGKILL");
    server.stderr.destroy();
  }
});

test("a server whose handler ignores its cancellation exits cleanly at the end of its input", { timeout: 60_000 }, async () => {
  const server = spawn(node, [program("../test-programs/failing-server.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const ended = once(server, "exit");
    server.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "stay", arguments: {}, _meta } })}\n`);
    const { error } = JSON.parse((await answers.next()).value);
    assert.deepEqual([error.code, error.data], [-32603, { reason: "interrupted" }]);
    assert.deepEqual(await ended, [0, null]);
  } finally {
    server.kill("SIGKILL");
  }
});

test("a server that dies during a call fails it, and the client is notified", async () => {
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

test("connecting can be aborted", async () => {
  const silent = [node, "-e", "setInterval(() => {}, 1000)"];
  await assert.rejects(Client.connect(silent, { signal: AbortSignal.timeout(100) }), { name: "CancelledError" });
  await assert.rejects(Client.connect(silent, { signal: AbortSignal.abort() }), { name: "CancelledError" });
  await assert.rejects(Client.connect(silent, { connectTimeout: 100, revision: "2025-11-25" }), { name: "TimeoutError" });
});

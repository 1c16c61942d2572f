// A client of servers that reply too early or send invalid responses.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { AuthorizationRequiredError, Client, Server, TransportError } from "trunkline";

/**
 * A program that answers each method with a JSON text of `answers`, and sends `more` right after
 * its first answer.
 */
function program(answers, more = []) {
  const source = `
    const answers = ${JSON.stringify(answers)}, more = ${JSON.stringify(more)};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const result = method === "initialize" ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } } : answers[method];
      const lines = [{ id, result }, ...more.splice(0)].map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
      process.stdout.write(lines.join(""));
    });`;
  return [process.execPath, "-e", source];
}

test("onNotification receives notifications sent right after the handshake", async () => {
  const notes = ["one", "two", "three"].map((data) => ({ method: "notifications/message", params: { level: "info", data } }));
  const heard = [];
  const client = await Client.connect(program({ ping: {} }, notes), { revision: "2025-06-18", onNotification: ({ params }) => heard.push(params.data) });
  await client.ping();
  assert.deepEqual(heard, ["one", "two", "three"]);
  await client.close();
});

test("DISC-02: a client with a pinned revision learns about its server later", { timeout: 60_000 }, async () => {
  const server = new Server({ name: "late", version: "1" }, { instructions: "Ask." });
  const client = await Client.connect(server, { revision: "2026-07-28" });
  while (!client.serverInfo) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual([client.serverInfo.name, client.instructions], ["late", "Ask."]);
  await client.close();
  assert.equal(client.serverInfo.name, "late");
});

/** A custom transport: lines to and from a process. */
class Pipes {
  connections = 0;
  closes = 0;
  broken = false;

  constructor(command) {
    this.command = command;
  }

  connect() {
    this.connections += 1;
    const [program, ...args] = this.command;
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  send(message) {
    if (this.broken) throw new Error("the wire is cut");
    this.child.stdin.write(`${message}\n`);
  }

  async receive() {
    return (await this.lines.next()).value;
  }

  close() {
    this.closes += 1;
    this.child.kill();
  }
}

for (const revision of ["auto", "2025-06-18", "2026-07-28"]) {
  test(`STD-17, STD-18: a custom transport, revision ${revision}`, { timeout: 20_000 }, async () => {
    const answers = { "server/discover": { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {}, ttlMs: 0, cacheScope: "private" }, "tools/list": { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" } };
    const pipes = new Pipes(program(answers));
    const client = await Client.connect(pipes, { revision });
    assert.deepEqual(await client.listTools(), []);
    pipes.broken = true;
    await assert.rejects(client.listTools(), { kind: "transport", message: /the wire is cut/ });
    pipes.broken = false;
    assert.deepEqual(await client.listTools(), []);
    assert.deepEqual([pipes.connections, pipes.closes], [2, 1]);
    await client.close();
    assert.equal(pipes.closes, 2);
  });
}

test("a transport that fails or hangs causes typed errors", { timeout: 20_000 }, async () => {
  const hang = () => new Promise(() => {});
  const silent = { connect() {}, send: hang, receive: hang, close: hang };
  const absent = { ...silent, connect: () => Promise.reject(new Error("nobody is there")) };
  await assert.rejects(Client.connect(absent), { kind: "transport", message: /nobody is there/ });
  await assert.rejects(Client.connect(silent, { connectTimeout: 200 }), { kind: "timeout" });
  const client = await Client.connect(silent, { revision: "2026-07-28" });
  await assert.rejects(client.listTools({ timeout: 200 }), { kind: "timeout" });
  await client.close({ deadline: 0 });
  await assert.rejects(Client.connect(silent, { headers: {} }), { kind: "invalidArgument", message: /headers/ });
});

test("a client connects to a configured server", async () => {
  const [command, ...args] = program({});
  const file = join(await mkdtemp(join(tmpdir(), "trunkline-")), "mcp.json");
  const config = { mcpServers: { odd: { command, args } } };
  await writeFile(file, JSON.stringify(config));
  for (const target of [{ type: "stdio", command, args }, config, file]) {
    const client = await Client.connect(target, { revision: "legacy" });
    assert.equal(client.serverInfo.name, "odd");
    await client.close();
  }
  for (const [target, message] of [
    [{ mcpServers: { x: { command, args: "x" } } }, /\/mcpServers\/x\/args: must be a list/],
    [{ url: "http://localhost/${NO_SUCH_VARIABLE}" }, /\/url: needs the environment variable NO_SUCH_VARIABLE/],
    [{}, /needs either "command"/],
    [{ command, arg: args }, /\/arg: is unknown: did you mean "args"\?/],
    [5, /must be an object, not a number/],
  ])
    await assert.rejects(Client.connect(target), { kind: "invalidArgument", message });
});

test("a request for authorization has its own error class", async () => {
  const challenge = 'Bearer error="invalid_token", error_description="It has expired", scope="a b", resource_metadata="https://x.example/y"';
  const refusing = createServer((_, response) => response.writeHead(401, { "www-authenticate": challenge }).end());
  await once(refusing.listen(0, "127.0.0.1"), "listening");
  for (const revision of ["auto", "2025-06-18"])
    await assert.rejects(Client.connect(`http://127.0.0.1:${refusing.address().port}/mcp`, { revision }), (error) => {
      assert.ok(error instanceof AuthorizationRequiredError && /expired/.test(error.message), error.message);
      const { kind, httpStatus, error: code, errorDescription, scopes, resourceMetadata, challenges } = error;
      assert.deepEqual([kind, httpStatus, code, errorDescription], ["authorizationRequired", 401, "invalid_token", "It has expired"]);
      assert.deepEqual([scopes, resourceMetadata, challenges], [["a", "b"], "https://x.example/y", [challenge]]);
      return true;
    });
  refusing.close();
});

for (const [what, answer] of Object.entries({ "it has no array": {}, "has something else as its list": { tools: "x" } })) {
  test(`a response that ${what} is a transport error`, async () => {
    const client = await Client.connect(program({ "tools/list": answer }), { revision: "2025-06-18" });
    await assert.rejects(client.listTools(), TransportError);
    await assert.rejects(client.listToolsPage(), TransportError);
    await client.close();
  });
}

test("before 2026-07-28, a list ends with a cursor that comes again", async () => {
  const client = await Client.connect(program({ "tools/list": { tools: [], nextCursor: "again" } }), { revision: "2025-06-18" });
  try {
    assert.deepEqual(await client.listTools(), []);
    assert.equal((await client.listToolsPage()).nextCursor, "again");
  } finally {
    await client.close();
  }
});

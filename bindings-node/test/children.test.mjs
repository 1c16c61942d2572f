// Servers that a client starts: their process id, and the destination of their standard error; and
// servers of descriptors.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client, Server } from "trunkline";

const SERVER = `
import { Server } from "trunkline";
const server = new Server({ name: "child", version: "1" });
console.error("a line of the server");
server.registerTool("pid", {}, () => String(process.pid));
server.registerTool("leave", {}, () => process.exit(3));
await server.serveStdio();
`;
const HOST = `
import { Client, setLogger } from "trunkline";
setLogger(() => {});
const [, , server, stderr] = process.argv;
const client = await Client.connect({ command: process.execPath, args: [server], stderr }, { revision: "2025-11-25" });
try {
  await client.callTool("leave");
} catch (error) {
  console.log(JSON.stringify(error.stderr));
}
await client.close();
`;

/** A program beside the package's own tests, which finds the package as they do. */
function program(folder, name, source) {
  const file = join(folder, name);
  writeFileSync(file, source);
  return file;
}

const within = (run) => async () => {
  const folder = mkdtempSync(join(import.meta.dirname, "tmp-children-"));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test("a client knows the process id of a server that it started", within(async (folder) => {
  const server = program(folder, "server.mjs", SERVER);
  const client = await Client.connect([process.execPath, server]);
  const first = client.pid;
  assert.equal(String(first), (await client.callTool("pid")).text);
  await assert.rejects(client.callTool("leave"), { kind: "transport", exitCode: 3 });
  const second = (await client.callTool("pid")).text;
  assert.notEqual(second, String(first));
  assert.equal(String(client.pid), second);
  await client.close();
  assert.equal(client.pid, undefined);

  const here = new Server({ name: "here", version: "1" });
  const inMemory = await Client.connect(here);
  assert.equal(inMemory.pid, undefined);
  await inMemory.close();
}));

for (const [stderr, shown, kept] of [["inherit", 1, 1], ["keep", 0, 1], ["discard", 0, 0]]) {
  test(`the standard error of a server: ${stderr}`, within((folder) => {
    const [server, host] = [program(folder, "server.mjs", SERVER), program(folder, "host.mjs", HOST)];
    const done = spawnSync(process.execPath, [host, server, stderr], { encoding: "utf8", timeout: 60_000 });
    assert.equal(done.status, 0, done.stderr);
    const count = (text) => text.split("a line of the server").length - 1;
    assert.deepEqual([count(done.stderr), count(done.stdout)], [shown, kept]);
  }));
}

test("the standard error of a server goes to a file", within(async (folder) => {
  const [server, log] = [program(folder, "server.mjs", SERVER), join(folder, "server.log")];
  writeFileSync(log, "before\n");
  const target = { command: process.execPath, args: [server] };
  const client = await Client.connect({ ...target, stderrFile: log });
  await client.close();
  const lines = readFileSync(log, "utf8").split("\n");
  assert.equal(lines[0], "before");
  assert.ok(lines.includes("a line of the server"), lines);
  await assert.rejects(Client.connect({ ...target, stderrFile: join(folder, "none", "server.log") }), { kind: "transport", message: /the file for its standard error, .*server\.log, cannot be opened/ });
}));

test("an unknown destination is refused", async () => {
  await assert.rejects(Client.connect({ command: process.execPath, args: ["none.mjs"], stderr: "file" }), { kind: "invalidArgument", message: /stderr/ });
});

test("a server serves descriptors of the program", { skip: process.platform === "win32" && "Windows has no such descriptors" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  const [input, output] = [join(folder, "input"), join(folder, "output")];
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  writeFileSync(input, `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize })}\n${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" })}\n`);
  const [reader, writer] = [openSync(input, "r"), openSync(output, "w")];
  const server = new Server({ name: "paired", version: "1" });
  const listener = await server.listenFd(reader, writer);
  closeSync(reader); // the library has duplicates
  closeSync(writer);
  await listener.run();
  const answers = readFileSync(output, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(answers.map(({ id, result }) => [id, result.serverInfo?.name]), [[1, "paired"], [2, undefined]]);
  await assert.rejects(server.listenFd(10_000), { kind: "invalidArgument", message: /descriptor 10000 is not open/ });
  await assert.rejects(server.listenFd(-1), { kind: "invalidArgument", message: /negative/ });
  await server.close();
  rmSync(folder, { recursive: true });
});

test("transport options apply to a command, and are the defaults of a group", within(async (folder) => {
  const server = program(folder, "server.mjs", SERVER);
  const host = program(folder, "host.mjs", `
import { Client, ClientGroup } from "trunkline";
const command = [process.execPath, ${JSON.stringify(server)}];
const client = await Client.connect(command, { stderr: "keep", inheritEnv: true });
await client.close();
const group = await ClientGroup.connect({ a: command, b: { command: command[0], args: [command[1]] } }, { stderr: "keep", inheritEnv: true });
console.log((await group.servers()).map(({ state }) => state).join(" "));
await group.close();
await Client.connect("http://127.0.0.1:9/mcp", { stderr: "keep" }).catch(({ message }) => console.log(message));
`);
  const done = spawnSync(process.execPath, [host], { encoding: "utf8", timeout: 60_000 });
  assert.equal(done.stdout, "connected connected\nstderr: only for programs\n", done.stderr);
  assert.ok(!done.stderr.includes("a line of the server"), done.stderr);
}));

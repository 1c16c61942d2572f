// Streamable HTTP within one process.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

let server;
let listener;
let begun;
let stopped;

before(async () => {
  server = new Server({ name: "web", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
  server.registerTool("long", {}, () => "x".repeat(20_000));
  server.registerTool("wait", {}, async (_, ctx) => {
    begun();
    await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => stopped?.());
    return "stopped";
  });
  server.registerTool("steps", {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    await sleep(20);
    await ctx.progress(2, 2);
    return "done";
  });
  listener = await server.listen({ port: 0 });
});

after(() => server.close());

test("a listener knows its address", () => {
  assert.deepEqual([listener.host, listener.url], ["127.0.0.1", `http://127.0.0.1:${listener.port}/mcp`]);
});

test("HTTP-05: a server listens on loopback by default", async () => {
  const others = Object.values(networkInterfaces()).flat().filter(({ family, internal }) => family === "IPv4" && !internal);
  const reach = async (host) => {
    const socket = connect({ host, port: listener.port });
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(60_000) });
    } finally {
      socket.destroy();
    }
  };
  await reach("127.0.0.1");
  for (const { address } of others) await assert.rejects(reach(address), { code: "ECONNREFUSED" }, address);
});

for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "auto"]) {
  test(`calls, progress and cancellation over HTTP, revision ${revision}`, async () => {
    const client = await Client.connect(new URL(listener.url), { revision });
    try {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => client.callTool("echo", { text: `m${i}` })));
      assert.deepEqual(answers.map(({ content }) => content[0].text), answers.map((_, i) => `m${i}`));
      const seen = [];
      await client.callTool("steps", {}, { onProgress: ({ progress }) => seen.push(progress) });
      // Progress that the loop had no time to take is replaced by later progress.
      assert.deepEqual(seen.slice(-1), [2]);
      const end = new Promise((resolve) => (stopped = resolve));
      const abort = new AbortController();
      begun = () => abort.abort();
      await assert.rejects(client.callTool("wait", {}, { signal: abort.signal }), { name: "CancelledError" });
      await end;
    } finally {
      await client.close();
    }
  });
}

for (const options of [{ json: true }, { stateless: true }, { json: true, stateless: true }, { path: "/elsewhere" }]) {
  test(`listening with ${JSON.stringify(options)}`, async () => {
    const other = await server.listen({ port: 0, ...options });
    try {
      assert.ok(other.url.endsWith(options.path ?? "/mcp"));
      for (const revision of ["2025-06-18", "2026-07-28"]) {
        const client = await Client.connect(other.url, { revision });
        assert.equal((await client.callTool("echo", { text: "hi" })).content[0].text, "hi");
        await client.close();
      }
    } finally {
      await other.close();
    }
  });
}

test("a response that exceeds the client's limit is an error that names the limit", async () => {
  const client = await Client.connect(listener.url, { maxMessageBytes: 10_000 });
  try {
    await assert.rejects(client.callTool("long"), { kind: "transport", message: /10000 bytes/ });
    await assert.rejects(client.callTool("echo", { text: "x".repeat(20_000) }), { kind: "invalidArgument", message: /10000 bytes/ });
    assert.equal((await client.callTool("echo", { text: "hi" })).content[0].text, "hi");
  } finally {
    await client.close();
  }
});

test("a server that is closing is alive but not ready", async () => {
  let enter, leave;
  const entered = new Promise((resolve) => (enter = resolve));
  const left = new Promise((resolve) => (leave = resolve));
  const own = new Server({ name: "probed", version: "1.0.0" });
  own.registerTool("hold", {}, async () => (enter(), await left));
  const probed = await own.listen({ port: 0, health: true });
  const probe = async (path) => {
    const response = await fetch(new URL(path, probed.url), { headers: { connection: "close" } });
    return [response.status, await response.text()];
  };
  assert.deepEqual([await probe("/healthz"), await probe("/readyz")], [[200, "ok\n"], [200, "ok\n"]]);
  const client = await Client.connect(probed.url);
  const held = client.callTool("hold");
  await entered;
  const closed = probed.close({ deadline: 30_000 });
  // A connection of the very moment may end before its request is read.
  while ((await probe("/readyz").catch(() => [200]))[0] === 200);
  assert.deepEqual([await probe("/healthz"), await probe("/readyz")], [[200, "ok\n"], [503, "unavailable\n"]]);
  leave("done");
  assert.equal((await held).text, "done");
  await closed;
  await client.close();
  await own.close();
});

test("connecting to a closed port, to a path that is not an endpoint, and to an invalid URL", async () => {
  const gone = await server.listen({ port: 0 });
  await gone.close();
  await assert.rejects(Client.connect(gone.url), { kind: "transport", reason: "refused", httpStatus: undefined });
  await assert.rejects(Client.connect(listener.url.replace("/mcp", "/nothing"), { revision: "2025-11-25" }), { name: "ProtocolError", message: /Nothing is served at \/nothing/ });
  await assert.rejects(Client.connect("weather.py"), { kind: "invalidArgument", message: /weather\.py/ });
});

test("a port that is in use is an error that names it", async () => {
  await assert.rejects(server.listen({ port: listener.port }), { kind: "transport", reason: "addressInUse", message: new RegExp(String(listener.port)) });
  await assert.rejects(server.listen({ host: "192.0.2.1", port: 0 }), { kind: "transport", reason: "addressUnavailable", message: /192\.0\.2\.1/ });
});

test("closing a listener ends the connections to it", async () => {
  const other = await server.listen({ port: 0 });
  const client = await Client.connect(other.url, { revision: "2025-11-25" });
  await other.close({ deadline: 0 });
  await assert.rejects(client.callTool("echo", { text: "hi" }), (error) => ["transport", "closed"].includes(error.kind));
  await client.close();
});

test("the fixture pair over HTTP: every revision, negotiation, and termination by a signal", async () => {
  const program = (name) => fileURLToPath(new URL(`../../tests/fixtures/node/${name}`, import.meta.url));
  const child = spawn(process.execPath, [program("server.mjs"), "--http", "0"], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const url = line.replace(/^listening /, "");
    const run = (...args) => spawnSync(process.execPath, [program("client.mjs"), ...args], { encoding: "utf8", timeout: 60_000, env: { ...process.env, MCP_CONFORMANCE_SCENARIO: "tools_call" } });
    const matrix = run("--matrix", url);
    assert.equal(matrix.status, 0, matrix.stdout + matrix.stderr);
    assert.equal(matrix.stdout.trim().split("\n").length, 5);
    assert.deepEqual([JSON.parse(run("--auto", url).stdout).revision, run(url).status], ["2026-07-28", 0]);
  } finally {
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual((await exit)[process.platform === "win32" ? 1 : 0], process.platform === "win32" ? "SIGTERM" : 0);
  }
});

test("certificates of a private authority, client certificates, and proxies", async () => {
  const [ca, cert, key, serverCert, serverKey] = ["ca.pem", "client.pem", "client.key", "server.pem", "server.key"].map((name) => readFileSync(new URL(`../../core/tests/tls/${name}`, import.meta.url), "utf8"));
  const reached = (request, response) => response.writeHead(500).end();
  const listening = async (web) => {
    web.listen(0, "127.0.0.1");
    await once(web, "listening");
    return web.address().port;
  };
  const outcome = async (port, options) => {
    const error = await Client.connect(`https://localhost:${port}/mcp`, options).catch((error) => error);
    return error.httpStatus ?? error.reason;
  };
  const web = createSecureServer({ cert: serverCert, key: serverKey }, reached);
  const mutual = createSecureServer({ cert: serverCert, key: serverKey, ca, requestCert: true, rejectUnauthorized: true }, reached);
  const asked = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url);
    reached(request, response);
  });
  const before = process.env.NODE_EXTRA_CA_CERTS;
  try {
    const port = await listening(web);
    assert.equal(await outcome(port), "tls");
    assert.equal(await outcome(port, { ca }), 500);
    process.env.NODE_EXTRA_CA_CERTS = fileURLToPath(new URL("../../core/tests/tls/ca.pem", import.meta.url));
    assert.equal(await outcome(port), 500, "as fetch of Node.js does");
    delete process.env.NODE_EXTRA_CA_CERTS;

    const mutualPort = await listening(mutual);
    assert.match(await outcome(mutualPort, { ca }), /^(tls|broken)$/);
    assert.equal(await outcome(mutualPort, { ca, clientCertificate: cert, clientKey: key }), 500);

    const target = "http://mcp.invalid/mcp";
    await assert.rejects(Client.connect(target, { proxy: `http://127.0.0.1:${await listening(proxy)}` }), { kind: "transport", httpStatus: 500 });
    assert.equal(asked[0], target);
  } finally {
    if (before !== undefined) process.env.NODE_EXTRA_CA_CERTS = before;
    for (const server of [web, mutual, proxy]) server.close();
  }
});

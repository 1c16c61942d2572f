// Whole processes: what keeps them alive, and how they end.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const home = fileURLToPath(new URL("..", import.meta.url));
const fixture = JSON.stringify([process.execPath, fileURLToPath(new URL("../../tests/fixtures/node/server.mjs", import.meta.url)), "--stdio"]);

/** Runs a program, which must exit by itself. */
function run(source, { type = "module", ms = 60_000 } = {}) {
  const start = performance.now();
  const result = spawnSync(process.execPath, [`--input-type=${type}`, "-e", source], { cwd: home, encoding: "utf8", timeout: ms });
  return { ...result, ms: performance.now() - start };
}

const head = `
  import { Client, Server } from "trunkline";
  const server = new Server({ name: "a", version: "1" });
  server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
  server.registerTool("boom", {}, async () => { throw new Error("boom"); });
`;

const programs = {
  "that only registers": "",
  "that served and called in memory, and closed": `
    const client = await Client.connect(server);
    await client.callTool("echo", { text: "hi" });
    await client.close();`,
  "that listened and closed": `await (await server.listen({ port: 0 })).close();`,
  "that had a child and closed": `
    const client = await Client.connect(${fixture});
    await client.callTool("echo", { message: "hi" });
    await client.close();`,
  "whose listener does not count": `(await server.listen({ port: 0 })).unref();`,
  "whose client does not count": `const client = (await Client.connect(server)).unref(); await client.callTool("echo", { text: "hi" });`,
  "whose handler throws": `
    const client = await Client.connect(server);
    if (!(await client.callTool("boom")).isError) throw new Error("no error");
    await client.close();`,
  "that failed to connect": `await Client.connect(["/does/not/exist"]).catch(() => {});`,
};
for (const [name, body] of Object.entries(programs)) {
  test(`a program ${name} exits by itself`, () => {
    const { status, signal, stderr } = run(`${head}${body}\nprocess.on("exit", () => console.log("end"));`);
    assert.deepEqual([status, signal], [0, null], stderr);
  });
}

test("an open client and an open listener keep the program alive", () => {
  for (const body of ["await Client.connect(server, { onNotification() {} });", "(await Client.connect(server)).on('notification', () => {});", "await server.listen({ port: 0 });"]) {
    const { status, stdout, stderr } = run(`${head}${body}\nsetTimeout(() => { console.log("alive"); process.exit(7); }, 300).unref();`);
    assert.deepEqual([status, stdout], [7, "alive\n"], stderr);
  }
});

test("process.exit with everything open exits quickly and cleanly", () => {
  const { status, signal, stderr, ms } = run(`${head}
    await server.listen({ port: 0 });
    const near = await Client.connect(server);
    const far = await Client.connect(${fixture});
    far.callTool("slow", { ms: 60000 }).catch(() => {});
    for (let i = 0; i < 50; i++) near.callTool("echo", { text: "hi" }).catch(() => {});
    process.exit(5);`);
  assert.deepEqual([status, signal], [5, null], stderr);
  assert.ok(ms < 10_000, `${ms} ms`);
});

test("an uncaught exception ends the program as usual", () => {
  const { status, stderr } = run(`${head}await server.listen({ port: 0 }); setTimeout(() => { throw new Error("mine"); }, 10);`);
  assert.equal(status, 1);
  assert.match(stderr, /Error: mine/);
});

test("CommonJS programs work the same", () => {
  const { status, stdout, stderr } = run(
    `const { Client, Server } = require("trunkline");
     (async () => {
       const server = new Server({ name: "a", version: "1" });
       server.registerTool("hi", {}, () => "hi");
       const client = await Client.connect(server);
       console.log((await client.callTool("hi")).content[0].text);
       await client.close();
     })();`,
    { type: "commonjs" },
  );
  assert.deepEqual([status, stdout], [0, "hi\n"], stderr);
});

test("servers dropped without close are freed, and those that are serving are kept", () => {
  const source = `
    import { setTimeout } from "node:timers/promises";
    import { Client, Server } from "trunkline";
    import { onLoad } from "./test-support/native.mjs";
    let freed = 0;
    onLoad(({ prototype }) => {
      const { unregister } = prototype;
      prototype.unregister = function (handle) {
        freed++;
        return unregister.call(this, handle);
      };
    });
    const make = () => {
      const server = new Server({ name: "a", version: "1" });
      server.registerTool("hello", {}, () => "Hello");
      return server;
    };
    const { url } = await make().listen({ port: 0 });
    const fetch = make().fetch;
    const outer = new Server({ name: "outer", version: "1" });
    outer.mount("inner", make());
    for (let made = 0; made < 50; made++) make();
    for (const end = Date.now() + 60_000; freed < 50 && Date.now() < end; await setTimeout(5)) gc();
    const client = await Client.connect(url);
    const { content } = await client.callTool("hello");
    const mounted = await (await Client.connect(outer)).callTool("inner__hello");
    console.log(freed, content[0].text, mounted.text, (await fetch(new Request("http://localhost/mcp"))).status);
    process.exit();`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", source], { cwd: home, encoding: "utf8", timeout: 20_000 });
  assert.match(stdout, /^50 Hello Hello 40\d\n$/, stderr);
});

// Windows ends processes without asking them.
if (process.platform !== "win32") {
  test("a server terminated by SIGTERM finishes its calls", async () => {
    const program = fileURLToPath(new URL("../test-programs/graceful.mjs", import.meta.url));
    const child = spawn(process.execPath, [program], { cwd: home, env: { ...process.env, PORT: "0" }, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [url] = await once(createInterface({ input: child.stdout }), "line");
      const client = await Client.connect(url);
      const ended = once(child, "exit");
      const { text } = await client.callTool("copy", {}, { onProgress: () => child.kill("SIGTERM") });
      assert.equal(text, "All files are copied.");
      assert.deepEqual(await ended, [0, null]);
      await client.close();
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("a signal ends everything that serves in the foreground", () => {
    const { status, stdout, stderr } = run(`${head}
      import { createServer } from "node:http";
      const other = new Server({ name: "b", version: "1" });
      // Keeps the event loop alive until it gets the signal, which the core may get earlier.
      const web = createServer(other.handler()).listen(0);
      const ends = [(await server.listen({ port: 0 })).run(), (await server.listen({ port: 0 })).run(), other.closeOnSignal(web)];
      process.kill(process.pid, "SIGTERM");
      await Promise.all(ends);
      console.log("ended");`);
    assert.deepEqual([status, stdout], [0, "ended\n"], stderr);
  });

  test("a handler that ignores its cancellation ends neither other requests of the web server nor the program", { timeout: 60_000 }, async () => {
    const program = `${head}
      import { createServer } from "node:http";
      server.registerTool("wait", {}, (_, { signal }) => {
        signal.addEventListener("abort", () => console.log("cancelled"));
        console.log("called");
        return new Promise((resolve) => setTimeout(resolve, 60_000));
      });
      const mcp = server.handler({ path: "/mcp" });
      const web = createServer((request, response) => {
        if (request.url !== "/slow") return mcp(request, response);
        console.log("slow");
        setTimeout(() => response.end("slow"), 1500);
      });
      web.listen(0, "127.0.0.1", () => console.log(web.address().port));
      await server.closeOnSignal(web);
      console.log("closed");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const line = async () => (await lines.next()).value;
      const address = `http://127.0.0.1:${await line()}`;
      const client = await Client.connect(`${address}/mcp`, { revision: "2026-07-28" });
      const cancel = new AbortController();
      const call = client.callTool("wait", {}, { signal: cancel.signal });
      assert.equal(await line(), "called");
      cancel.abort();
      await assert.rejects(call);
      assert.equal(await line(), "cancelled");
      await client.close();
      const asked = once(get(`${address}/slow`, { agent: false }), "response");
      assert.equal(await line(), "slow");
      child.kill("SIGTERM");
      const [response] = await asked;
      assert.deepEqual([response.statusCode, await textOf(response)], [200, "slow"]);
      assert.equal(await line(), "closed");
      assert.deepEqual(await exit, [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("a signal that the program handles itself is left to it", () => {
    const { status, stdout, stderr } = run(`${head}
      const own = new Promise((resolve) => process.on("SIGINT", () => resolve(console.log("own"))));
      let hasEnded = false;
      const end = (await server.listen({ port: 0 })).run().then(() => (hasEnded = true));
      process.kill(process.pid, "SIGINT");
      await own;
      await new Promise((resolve) => setTimeout(resolve, 500));
      console.log(hasEnded);
      process.kill(process.pid, "SIGTERM");
      await end;`);
    assert.deepEqual([status, stdout], [0, "own\nfalse\n"], stderr);
  });

  test("a web server that fails to close does not keep the server from closing", () => {
    for (const fail of ["() => { throw new Error('stuck'); }", "() => Promise.reject(new Error('stuck'))"]) {
      const { status, stdout, stderr } = run(`${head}
        const client = await Client.connect(server, { onNotification: console.log });
        setTimeout(() => process.kill(process.pid, "SIGTERM"));
        await server.closeOnSignal({ close: ${fail} }).catch(({ message }) => console.log(message, client.isConnected));`);
      assert.deepEqual([status, stdout], [0, "stuck false\n"], stderr);
      assert.match(stderr, /closing the web server failed: Error: stuck/);
    }
  });

  test("a program waits for the child process that it had before it served", { timeout: 60_000 }, () => {
    const slow = JSON.stringify('process.on("SIGTERM", () => setTimeout(process.exit, 4000)); setInterval(() => {}, 60_000); console.log("ready");');
    const { status, stdout, stderr } = run(`${head}
      import { spawn } from "node:child_process";
      import { once } from "node:events";
      const own = spawn(process.execPath, ["-e", ${slow}], { stdio: ["ignore", "pipe", "inherit"] });
      await once(own.stdout, "data");
      const exit = once(own, "exit");
      await server.serveStdio();
      own.kill();
      await exit;
      console.error("its child has ended");`);
    assert.deepEqual([status, stdout, stderr], [0, "", "its child has ended\n"]);
  });

  test("child processes left by a handler do not keep a stopped server alive", { timeout: 60_000 }, async () => {
    const program = `${head}
      import { spawn } from "node:child_process";
      server.registerTool("leave", {}, () => {
        const options = [{ stdio: "inherit" }, { stdio: "pipe" }];
        return options.map((stdio) => spawn("sleep", ["60"], stdio).pid).join(" ");
      });
      await server.serveStdio();`;
    const meta = { protocolVersion: "2026-07-28", clientInfo: { name: "raw", version: "1" }, clientCapabilities: {} };
    const _meta = Object.fromEntries(Object.entries(meta).map(([key, value]) => [`io.modelcontextprotocol/${key}`, value]));
    const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "leave", arguments: {}, _meta } });
    const endedBy = async (end) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: home, stdio: ["pipe", "pipe", "ignore"] });
      child.stdin.write(`${call}\n`);
      const [line] = await once(createInterface({ input: child.stdout }), "line");
      const left = JSON.parse(line).result.content[0].text.split(" ").map(Number);
      try {
        const exit = once(child, "exit", { signal: AbortSignal.timeout(20_000) });
        end(child);
        assert.deepEqual(await exit, [0, null]);
      } finally {
        child.kill("SIGKILL");
        for (const pid of left) process.kill(pid, "SIGKILL");
      }
    };
    await Promise.all([endedBy((child) => child.stdin.end()), endedBy((child) => child.kill("SIGTERM"))]);
  });
}

test("handlers that ignore the end of stdin do not end a process that also listens", { timeout: 60_000 }, async () => {
  const program = `${head}
    import { setTimeout as sleep } from "node:timers/promises";
    const listener = await server.listen({ port: 0 });
    const stdio = new Server({ name: "b", version: "1" }, { drainDeadline: 50 });
    stdio.registerTool("ignore", {}, () => {
      console.error("called");
      return sleep(60_000);
    });
    await stdio.serveStdio();
    await sleep(1500);
    const client = await Client.connect(listener.url);
    console.error((await client.callTool("echo", { text: "still listening" })).text);
    process.exit(7);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: home, stdio: ["pipe", "ignore", "pipe"] });
  try {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const messages = [{ id: 1, method: "initialize", params }, { method: "notifications/initialized" }, { id: 2, method: "tools/call", params: { name: "ignore" } }];
    child.stdin.write(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    let seen = "";
    for await (const chunk of child.stderr) {
      seen += chunk;
      if (seen.includes("called")) child.stdin.end();
    }
    assert.match(seen, /still listening/);
  } finally {
    child.kill("SIGKILL");
  }
});

test("errors that cause each other do not keep a stopped server alive", { skip: process.platform === "win32", timeout: 60_000 }, async () => {
  const program = `${head}
    process.on("uncaughtException", (error) => process.stderr.write(String(error)));
    server.registerTool("fail", {}, () => {
      setImmediate(() => { throw new Error("first"); });
      return "";
    });
    await server.serveStdio();
    process.exit(7);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: home, stdio: ["pipe", "ignore", "pipe"] });
  try {
    // Nobody reads it, so each error that is written causes the next.
    child.stderr.destroy();
    const exit = once(child, "exit", { signal: AbortSignal.timeout(50_000) });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const messages = [{ id: 1, method: "initialize", params }, { method: "notifications/initialized" }, { id: 2, method: "tools/call", params: { name: "fail" } }];
    child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    assert.deepEqual(await exit, [1, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

/** The descriptors, threads and child processes of this process. */
function held() {
  const threads = readdirSync("/proc/self/task");
  const children = threads.flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" ").filter(Boolean));
  return [readdirSync("/proc/self/fd").length, threads.length, children.length];
}

for (const place of ["child", "http", "memory"]) {
  test(`closed clients and servers leave nothing behind: ${place}`, { skip: process.platform !== "linux" }, async () => {
    const noisy = fileURLToPath(new URL("../test-programs/noisy-server.mjs", import.meta.url));
    const openAndClose = async () => {
      const server = new Server({ name: "counted", version: "1.0.0" });
      server.registerTool("noise", {}, () => "quiet");
      const listener = place === "http" ? await server.listen({ port: 0 }) : undefined;
      const client = await Client.connect(listener?.url ?? (place === "child" ? [process.execPath, noisy] : server));
      assert.equal((await client.callTool("noise")).text, "quiet");
      await client.close();
      await listener?.close();
    };
    for (let round = 0; round < 3; round++) await openAndClose();
    const before = held();
    for (let round = 0; round < 10; round++) await openAndClose();
    const isOver = () => held().every((count, index) => count <= before[index]);
    // Some of them end a moment after the close.
    for (const end = Date.now() + 30_000; !isOver(); await sleep(50)) assert.ok(Date.now() < end, `${before} before, ${held()} after`);
  });
}

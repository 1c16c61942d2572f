// Servers that mount others: in this process and behind a client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clearInterval, setInterval } from "node:timers";

import { CancelledError, Client, ClientGroup, InvalidArgumentError, Server } from "trunkline";

const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

function named(name) {
  const server = new Server({ name, version: "1.0.0" });
  server.registerTool("whoami", {}, () => name);
  server.registerTool("greet", { inputSchema: { type: "object" } }, async (_, ctx) => (await ctx.elicit("Your name?", form)).content.name);
  server.registerResource("today", "notes://today", {}, () => name);
  return server;
}

const first = async (call) => (await call).content[0].text;
const names = async (client) => (await client.listTools()).map(({ name }) => name);

test("a mounted server appears under its prefix, with later changes, until it is removed", async () => {
  const [outer, inner] = [named("outer"), named("inner")];
  const called = [];
  for (const server of [outer, inner]) {
    server.use((request, next, ctx) => {
      called.push(ctx.name);
      return next();
    });
  }
  inner.use(async (request, next) => {
    const result = await next();
    return request.method === "tools/call" ? { ...result, content: [{ type: "text", text: `${result.content[0].text}, wrapped` }] } : result;
  });
  const mounted = outer.mount("in", inner);
  let changed;
  const client = await Client.connect(outer, { onToolsChanged: () => changed?.() });
  try {
    assert.deepEqual(await names(client), ["whoami", "greet", "in__whoami", "in__greet"]);
    assert.equal(await first(client.callTool("whoami")), "outer");
    assert.equal(await first(client.callTool("in__whoami")), "inner, wrapped");
    assert.equal((await client.readResource("in+notes://today")).contents[0].text, "inner");
    // The called name as its server knows it, in middleware too.
    assert.deepEqual(called.filter((name) => name !== "initialize" && name !== "server/discover"), ["tools/list", "tools/list", "whoami", "in__whoami", "whoami", "in+notes://today", "notes://today"]);
    const told = new Promise((resolve) => (changed = resolve));
    inner.registerTool("late", {}, () => "late");
    await told;
    assert.equal(await first(client.callTool("in__late")), "late, wrapped");
    assert.throws(() => outer.mount("again", inner), InvalidArgumentError);
    assert.throws(() => inner.mount("out", outer), /mounting would form a cycle/);
    mounted.remove();
    assert.deepEqual(await names(client), ["whoami", "greet"]);
  } finally {
    await client.close();
    await outer.close();
    await inner.close();
  }
});

for (const [old, revision] of [["2025-06-18", "2026-07-28"], ["2026-07-28", "2025-11-25"]]) {
  test(`a proxy exposes a server of ${old} to clients of ${revision}, and forwards its requests to the caller`, async () => {
    const remote = named("remote");
    const listener = await remote.listen({ port: 0 });
    const far = await Client.connect(listener.url, { revision: old });
    const gateway = new Server({ name: "gateway", version: "1.0.0" });
    const proxy = gateway.proxy(far, { prefix: "far" });
    const connect = (name) => Client.connect(gateway, { revision, onElicit: () => ({ action: "accept", content: { name } }) });
    const [ann, bob] = [await connect("Ann"), await connect("Bob")];
    try {
      assert.deepEqual(await names(ann), ["far__whoami", "far__greet"]);
      const calls = [ann, bob, ann, bob].map((client) => first(client.callTool("far__greet")));
      assert.deepEqual(await Promise.all(calls), ["Ann", "Bob", "Ann", "Bob"]);
      assert.equal((await ann.readResource("far+notes://today")).contents[0].text, "remote");
      assert.throws(() => gateway.proxy(far, { prefix: "far" }), InvalidArgumentError);
      assert.throws(() => gateway.proxy({}), /a connected client/);
      proxy.remove();
      assert.deepEqual(await names(ann), []);
    } finally {
      await Promise.all([ann.close(), bob.close(), far.close()]);
      await gateway.close();
      await remote.close();
    }
  });
}

for (const [old, revision] of [["2025-11-25", "2026-07-28"], ["2026-07-28", "2025-11-25"]]) {
  test(`TSK-06: a call through a proxy is a task of the proxy, ${old} behind ${revision}`, { timeout: 60_000 }, async (t) => {
    // Incoming calls do not keep Node.js running.
    const running = setInterval(() => {}, 1000);
    t.after(() => clearInterval(running));
    const remote = new Server({ name: "remote", version: "1.0.0" }, { taskPollInterval: 20 });
    t.after(() => remote.close());
    let goOn, begin, stop;
    const [gate, began] = [new Promise((resolve) => (goOn = resolve)), new Promise((resolve) => (begin = resolve))];
    const stopped = new Promise((resolve) => (stop = resolve));
    remote.registerTool("report", { task: "optional" }, () => gate.then(() => "the report"));
    remote.registerTool("greet", { task: "optional" }, async (_, ctx) => (await ctx.elicit("Your name?", form)).content.name);
    remote.registerTool("endless", { task: "required" }, (_, ctx) => {
      ctx.signal.addEventListener("abort", stop);
      begin();
      return new Promise(() => {});
    });
    const far = await Client.connect(remote, { revision: old });
    t.after(() => far.close());
    const gateway = new Server({ name: "gateway", version: "1.0.0" }, { taskPollInterval: 20 });
    t.after(() => gateway.close());
    gateway.proxy(far, { prefix: "far" });
    const client = await Client.connect(gateway, { revision, onElicit: () => ({ action: "accept", content: { name: "Ann" } }) });
    t.after(() => client.close());
    const task = await client.startTask("far__report");
    assert.equal(task.state.status, "working");
    goOn();
    const states = [];
    for await (const state of task) states.push(state.status);
    assert.equal(states.at(-1), "completed");
    assert.equal(await first(task.result()), "the report");
    assert.equal(await first(client.callTool("far__report")), "the report");
    assert.equal(await first((await client.startTask("far__greet")).result()), "Ann");
    const endless = await client.startTask("far__endless");
    await began;
    await endless.cancel();
    await assert.rejects(endless.result(), CancelledError);
    await stopped;
  });
}

test("a proxy of a group exposes all of its servers, including those added later", async () => {
  const servers = [named("far"), named("late")];
  const [far, late] = await Promise.all(servers.map((server) => server.listen({ port: 0 })));
  const group = await ClientGroup.connect({ far: far.url, gone: "http://127.0.0.1:1/mcp" });
  const gateway = new Server({ name: "gateway", version: "1.0.0" });
  const proxy = gateway.proxy(group);
  let changed;
  const options = { onElicit: () => ({ action: "accept", content: { name: "Ann" } }), onToolsChanged: () => changed?.() };
  const client = await Client.connect(gateway, { revision: "2025-11-25", ...options });
  try {
    assert.deepEqual(await names(client), ["far__whoami", "far__greet"]);
    assert.equal(await first(client.callTool("far__greet")), "Ann");
    assert.equal((await client.readResource("far+notes://today")).contents[0].text, "far");
    await assert.rejects(client.callTool("gone__whoami"), /Cannot connect/);
    const told = new Promise((resolve) => (changed = resolve));
    await group.addServer("late", late.url);
    await told;
    assert.equal(await first(client.callTool("late__whoami")), "late");
    proxy.remove();
    assert.deepEqual(await names(client), []);
  } finally {
    await Promise.all([client.close(), group.close(), gateway.close()]);
    await Promise.all(servers.map((server) => server.close()));
  }
});

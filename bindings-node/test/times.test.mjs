// Times are whole milliseconds for the core; users can pass any valid time.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, InvalidArgumentError, Server } from "trunkline";

const info = { name: "s", version: "1" };

test("invalid times are refused with the name of the option", async () => {
  const server = new Server(info);
  server.registerTool("t", {}, () => "hi");
  const client = await Client.connect(server);
  for (const wrong of [NaN, -1, -Infinity, "5", null, 5n, {}]) {
    const refused = (name) => (error) => error instanceof InvalidArgumentError && error.message.startsWith(`${name} must be a number of milliseconds`);
    for (const name of ["sessionIdle", "drainDeadline", "keepAlive", "ttl", "stateLifetime", "inputTimeout", "taskTtl", "taskPollInterval"]) {
      assert.throws(() => new Server(info, { [name]: wrong }), refused(name));
    }
    for (const name of ["connectTimeout", "probeTimeout", "timeout", "maxTimeout"]) {
      await assert.rejects(Client.connect(server, { [name]: wrong }), refused(name));
    }
    for (const name of ["timeout", "maxTimeout"]) await assert.rejects(client.callTool("t", {}, { [name]: wrong }), refused(name));
    await assert.rejects(client.close({ deadline: wrong }), refused("deadline"));
    await assert.rejects(server.close({ deadline: wrong }), refused("deadline"));
    await assert.rejects(server.listen({ port: 0, retry: wrong }), refused("retry"));
    assert.throws(() => server.registerResource("r", "a://b", { ttl: wrong }, () => ""), refused("ttl"));
  }
  await client.close();
  await server.close();
});

test("the name that a time has in JSON is refused", async () => {
  const server = new Server(info);
  const client = await Client.connect(server);
  const skill = { "SKILL.md": "---\nname: x\ndescription: X.\n---\n" };
  const cases = {
    sessionIdle: async (options) => new Server(info, options),
    retry: (options) => server.listen({ port: 0, ...options }),
    connectTimeout: (options) => Client.connect(server, options),
    loginTimeout: (auth) => Client.connect("http://127.0.0.1:1/mcp", { auth }),
    timeout: async (options) => server.registerRequestHandler("com.acme/sum", options, () => ({})),
    maxTimeout: (options) => client.callTool("t", {}, options),
    deadline: (options) => client.close(options),
    ttl: async (options) => server.registerSkill(skill, options),
  };
  for (const [name, take] of Object.entries(cases)) {
    const message = `unknown option \`${name}Ms\`: did you mean \`${name}\`?`;
    await assert.rejects(take({ [`${name}Ms`]: 1 }), { kind: "invalidArgument", message });
  }
  await client.close();
  await server.close();
});

test("fractions are rounded up, and Infinity is the maximum", async () => {
  const server = new Server(info, { drainDeadline: 1e9 + 0.5, sessionIdle: Infinity, ttl: 0 });
  let finish;
  server.registerTool("t", {}, () => new Promise((resolve) => (finish = resolve)));
  const client = await Client.connect(server, { timeout: Infinity, maxTimeout: Infinity });
  const answer = client.callTool("t", {}, { timeout: 60_000.5 });
  while (!finish) await new Promise(setImmediate);
  const closed = server.close({ deadline: Infinity });
  // A timer that treats the longest time as none would end the call now.
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish("done");
  assert.equal((await answer).content[0].text, "done");
  await closed;
});

test("a listener waits for its calls until its deadline, even if that is Infinity", async () => {
  const server = new Server(info);
  let finish;
  server.registerTool("t", {}, () => new Promise((resolve) => (finish = resolve)));
  const listener = await server.listen({ port: 0 });
  const client = await Client.connect(listener.url);
  const answer = client.callTool("t");
  while (!finish) await new Promise(setImmediate);
  const closed = listener.close({ deadline: Infinity });
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish("done");
  assert.equal((await answer).content[0].text, "done");
  await closed;
  await client.close();
  await server.close();
});

test("fake timers of a test do not affect the package", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  const server = new Server({ name: "faked", version: "1" }, { lifespan: () => ({}) });
  server.registerTool("reports", {}, async (_, ctx) => {
    for (let step = 0; step < 200; step++) await ctx.progress(step);
    return "done";
  });
  const client = await Client.connect(server);
  const calls = Array.from({ length: 30 }, () => client.callTool("reports", {}, { onProgress: () => undefined }));
  assert.ok((await Promise.all(calls)).every(({ text }) => text === "done"));
  await client.close();
  await server.close();
});

// Errors thrown by handlers: the part for callers and the part for the log.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { z } from "zod";

import { Client, ClosedError, ProtocolError, Server, setLogger, TokenError, ToolError, TransportError } from "trunkline";

const logged = [];
setLogger(({ message }) => logged.push(message));
after(() => setLogger());

const server = new Server({ name: "s", version: "1" });
let thrown;
server.registerTool("fail", {}, () => {
  throw thrown;
});
const client = await Client.connect(server);
after(() => server.close());

/** The part of an error for the log. */
async function logOf(error) {
  thrown = error;
  const before = logged.length;
  const { content, isError } = await client.callTool("fail");
  assert.equal(isError, true);
  for (let left = 3_000; logged.length === before && left > 0; left--) await sleep(10);
  return { told: content[0].text, log: logged.slice(before).join("\n") };
}

test("the log contains the stacks of an error and its causes, and none of its other members", async () => {
  const request = { headers: { authorization: "Bearer secret" } };
  const inner = Object.assign(new TypeError("inner"), { request });
  const outer = Object.assign(new Error("outer", { cause: inner }), { request, response: { request } });
  const { told, log } = await logOf(outer);
  assert.doesNotMatch(told, /outer|inner|secret/);
  assert.match(log, /Error: outer\n[^]*failures\.test[^]*caused by: TypeError: inner\n[^]*failures\.test/);
  assert.doesNotMatch(log, /secret|authorization/);
});

test("any thrown value can be logged, within bounds", async () => {
  const circle = new Error("circle");
  circle.cause = circle;
  const unreadable = Object.defineProperty(new Error("x"), "stack", { get: () => { throw new Error("no stack"); } });
  for (const [error, expected] of [
    ["a text", /'a text', which is not an Error/],
    [undefined, /undefined, which is not an Error/],
    [Symbol("s"), /Symbol\(s\), which is not an Error/],
    [{ message: "hm", secret: "secret" }, /an object that is not an Error: hm/],
    [circle, /circle/],
    [new AggregateError([new Error("one"), new Error("two")], "both"), /both[^]*caused by: Error: one[^]*caused by: Error: two/],
    [new Error("long".repeat(100_000)), /long.*…$/],
    [unreadable, /cannot be read/],
    [new Proxy({}, { get: () => { throw new Error("no"); }, getPrototypeOf: () => { throw new Error("no"); } }), /cannot be read/],
  ]) {
    const { log } = await logOf(error);
    assert.match(log, expected);
    assert.ok(log.length < 40_000, `${log.length} characters`);
    assert.doesNotMatch(log, /secret/);
  }
});

test("a protocol error whose data is not JSON still answers the call", async () => {
  const circle = {};
  circle.self = circle;
  const { log } = await logOf(new ProtocolError("odd", { code: 7, data: circle }));
  assert.match(log, /odd/);
});

// Half of an emoji, as `slice` leaves it.
const HALF = "👍".slice(0, 1);
const WHOLE = "\ufffd";

test("an unpaired surrogate in a thrown message becomes U+FFFD, and affects one call only", async () => {
  const odd = Object.assign(new Error(`an error ${HALF}`), { name: `Odd${HALF}` });
  assert.match((await logOf(odd)).log, /an error/);
  thrown = new ToolError(`no ${HALF}`);
  assert.equal((await client.callTool("fail")).text, `no ${WHOLE}`);
  thrown = new ProtocolError(`no ${HALF}`, { code: 7, data: { [HALF]: HALF } });
  await assert.rejects(client.callTool("fail"), { message: `no ${WHOLE} (7)`, code: 7, data: { [WHOLE]: WHOLE } });
  const refuse = () => {
    throw new ProtocolError(`no ${HALF}`, { code: 7 });
  };
  server.registerPrompt("fail", {}, refuse);
  server.registerResource("fail", "fail://x", {}, refuse);
  await assert.rejects(client.getPrompt("fail"), { message: `no ${WHOLE} (7)` });
  await assert.rejects(client.readResource("fail://x"), { message: `no ${WHOLE} (7)` });
  const refined = z.object({ city: z.string().refine(() => false, { error: `no ${HALF}` }) });
  server.registerTool("refined", { inputSchema: refined }, () => "");
  assert.match((await client.callTool("refined", { city: "x" })).text, /no \ufffd/);
});

test("unpaired surrogates in a handler's reports and requests, and in the responses", async () => {
  const own = new Server({ name: "s", version: "1" });
  own.registerTool("talk", { description: `d ${HALF}`, inputSchema: z.object({ said: z.string() }) }, async ({ said }, ctx) => {
    await ctx.progress(1, 2, `m ${HALF}`);
    await ctx.info(`i ${HALF}`);
    const { content } = await ctx.elicit(`e ${HALF}`, z.object({ name: z.string() }));
    return `${said} ${content.name}`;
  });
  own.registerTool("ask", {}, async (_, ctx) => {
    await ctx.sample("Hello?", { maxTokens: 1 });
    return "";
  });
  const seen = [];
  const connected = await Client.connect(own, {
    logLevel: "info",
    onElicit: ({ message }) => {
      seen.push(message);
      return { action: "accept", content: { name: HALF } };
    },
    onSample: () => {
      throw new ProtocolError(`no ${HALF}`, { code: 7 });
    },
    onLog: ({ data }) => void seen.push(data),
  });
  after(() => own.close());
  assert.equal((await connected.listTools()).find(({ name }) => name === "talk").description, `d ${WHOLE}`);
  const result = await connected.callTool("talk", { said: HALF }, { onProgress: ({ message }) => void seen.push(message) });
  assert.equal(result.text, `${WHOLE} ${WHOLE}`);
  // The handler runs again with the answer.
  for (let left = 3_000; new Set(seen).size < 3 && left > 0; left--) await sleep(10);
  assert.deepEqual([...new Set(seen)].sort(), [`e ${WHOLE}`, `i ${WHOLE}`, `m ${WHOLE}`]);
  await connected.callTool("ask").catch(({ message }) => assert.match(message, /no \ufffd/));
  assert.equal((await connected.callTool("talk", { said: "still" })).text, `still ${WHOLE}`);
});

test("a plugin may throw and return objects of its own copy of the package", async () => {
  // The file that bundlers use.
  const other = await import("../dist/esm/index.js");
  assert.notEqual(other.ToolError, ToolError);
  const verifier = () => {
    throw new other.TokenError("no such token");
  };
  const refusing = new Server({ name: "s", version: "1" });
  const fetching = refusing.fetchHandler({ auth: { resource: "https://mine.example/mcp", authorizationServers: ["https://auth.example"], verifier } });
  const refused = await fetching(new Request("http://localhost/mcp", { method: "POST", headers: { authorization: "Bearer x" } }));
  assert.match(await refused.text(), /no such token/);
  assert.equal(refused.status, 401);
  await refusing.close();
  const own = new Server({ name: "s", version: "1" });
  own.registerTool("fail", {}, () => {
    throw new (class extends other.ToolError {})("for the caller");
  });
  own.registerTool("refuse", {}, () => {
    throw new other.ProtocolError("refused", { code: 7, data: 1 });
  });
  own.registerTool("ask", {}, (_, { inputResponses }) => inputResponses?.roots?.roots.length ?? new other.InputRequired({ roots: other.listRoots() }));
  const connected = await Client.connect(own, { revision: "2026-07-28", roots: [] });
  const { text, isError } = await connected.callTool("fail");
  assert.deepEqual([text, isError], ["for the caller", true]);
  await assert.rejects(connected.callTool("refuse"), { message: "refused (7)", code: 7, data: 1 });
  assert.equal((await connected.callTool("ask")).text, "0");
  await own.close();
});

test("failures that a handler doesn't await don't end the process", async () => {
  const own = new Server({ name: "s", version: "1" });
  own.use("tools/call", async (_, next) => {
    const result = next();
    await sleep(5);
    return result;
  });
  const failing = [
    (ctx) => ctx.progress(Number.NaN),
    (ctx) => ctx.ping(),
    (ctx) => ctx.once("work", () => Promise.reject(new TypeError("odd"))),
  ];
  own.registerTool("forgetful", {}, (_, ctx) => {
    for (const fail of failing) void fail(ctx);
    throw new ToolError("for next");
  });
  own.registerTool("awaiting", {}, async (_, ctx) => (await Promise.all(failing.map((fail) => fail(ctx).catch(({ name }) => name)))).join(" "));
  const ended = [];
  const note = (reason) => ended.push(reason);
  process.on("unhandledRejection", note);
  const connected = await Client.connect(own, { revision: "2026-07-28" });
  assert.equal((await connected.callTool("forgetful")).text, "for next");
  assert.equal((await connected.callTool("awaiting")).text, "InvalidArgumentError ProtocolError TypeError");
  await sleep(5);
  process.off("unhandledRejection", note);
  assert.deepEqual(ended, []);
  await own.close();
});

test("an unpaired surrogate in a verifier's error refuses one request only", async () => {
  const own = new Server({ name: "s", version: "1" });
  const verifier = () => {
    throw new TokenError(`no ${HALF}`);
  };
  const listener = await own.listen({ port: 0, auth: { resource: "https://mine.example/mcp", authorizationServers: ["https://auth.example"], verifier } });
  for (let times = 2; times > 0; times--) {
    const { status } = await fetch(listener.url, { method: "POST", headers: { authorization: "Bearer t" } });
    assert.equal(status, 401);
  }
  await own.close();
});

test("exceptions and rejections of callbacks are logged and affect nothing else", async () => {
  const own = new Server({ name: "s", version: "1" }, {
    onError: async () => {
      throw new Error("mine: onError");
    },
  });
  own.registerTool("talk", {}, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.info("hello");
    return "done";
  });
  own.registerTool("fail", {}, () => {
    throw new Error("mine: handler");
  });
  const connected = await Client.connect(own, {
    logLevel: "info",
    onLog: () => {
      throw new Error("mine: onLog");
    },
    onNotification: async () => {
      throw new Error("mine: onNotification");
    },
  });
  let heard = 0;
  connected.on("notification", () => heard++);
  connected.on("close", () => {
    throw new Error("mine: close");
  });
  const before = logged.length;
  const onProgress = () => {
    throw new Error("mine: onProgress");
  };
  assert.equal((await connected.callTool("talk", {}, { onProgress })).text, "done");
  assert.equal((await connected.callTool("talk", {}, { onProgress: async () => onProgress() })).text, "done");
  assert.equal((await connected.callTool("fail")).isError, true);
  for (let left = 3_000; heard < 2 && left > 0; left--) await sleep(10);
  assert.equal(heard, 2);
  await own.close();
  const expected = ["onProgress", "onLog", "onNotification", "onError", "handler", "close"];
  const missing = () => expected.filter((name) => !logged.slice(before).some((text) => text.includes(`mine: ${name}`)));
  for (let left = 3_000; missing().length > 0 && left > 0; left--) await sleep(10);
  assert.deepEqual(missing(), []);
});

test("a logger that throws affects nothing else", async () => {
  const keep = ({ message }) => logged.push(message);
  setLogger(() => {
    throw new Error("mine: logger");
  });
  thrown = new Error("for the logger");
  assert.equal((await client.callTool("fail")).isError, true);
  setLogger(keep);
});

test("once: work that throws synchronously is repeated", async () => {
  let times = 0;
  server.registerTool("once", {}, async (_, ctx) => {
    const work = () => {
      if (++times === 1) throw new Error("not yet");
      return times;
    };
    await assert.rejects(ctx.once("key", work), /not yet/);
    return String(await ctx.once("key", work));
  });
  assert.equal((await client.callTool("once")).content[0].text, "2");
});

test("the description of a call can only be read before it ends", async () => {
  let late;
  server.registerTool("late", {}, (_, ctx) => {
    late = ctx;
    return "";
  });
  server.registerTool("early", {}, (_, ctx) => {
    late = ctx;
    return ctx.revision;
  });
  await client.callTool("late");
  assert.throws(() => late.meta, (error) => error instanceof ClosedError && /the call has ended/.test(error.message));
  const revision = (await client.callTool("early")).content[0].text;
  assert.equal(late.revision, revision);
});

class Broken extends Error {}

function failing(options) {
  const server = new Server({ name: "s", version: "1" }, options);
  server.registerTool("broken", {}, async () => {
    throw new Broken("broken");
  });
  server.registerTool("told", {}, () => {
    throw new ToolError("told");
  });
  server.registerPrompt("refused", {}, () => {
    throw new ProtocolError("refused", { code: -32001 });
  });
  after(() => server.close());
  return server;
}

test("the error itself reaches the logger and onError", async () => {
  const [records, seen] = [[], []];
  setLogger((record) => records.push(record));
  const onError = (error, { name }) => {
    seen.push([error, name]);
    throw new Error("a hook that fails costs nothing");
  };
  const client = await Client.connect(failing({ onError }));
  assert.match((await client.callTool("broken")).content[0].text, /internal error/);
  assert.equal((await client.callTool("told")).content[0].text, "told");
  await assert.rejects(client.getPrompt("refused"), ProtocolError);
  setLogger(({ message }) => logged.push(message));
  const [[error, name], ...others] = seen;
  assert.ok(error instanceof Broken);
  assert.deepEqual([name, others], ["broken", []]);
  assert.deepEqual(records.map(({ level, target }) => [level, target]), [["error", "trunkline::server"], ["error", "trunkline::server"]]);
  assert.equal(records[0].error, error);
  assert.match(records[0].message, /^tools\/call broken failed: Error: broken\n[^]*failures\.test/);
  assert.match(records[1].message, /a hook that fails/);
  assert.deepEqual(records[0].fields.tool, "broken");
  assert.deepEqual([records[0].event, records[0].message], ["a tool failed", `tools/call broken failed: ${records[0].fields.error}`]);
  await client.close();
});

test("a call that was cancelled before its middleware began is no failure", async () => {
  const failures = [];
  const server = new Server({ name: "cancelled", version: "1.0.0" }, { onError: (error) => failures.push(error) });
  const block = () => {
    for (const end = Date.now() + 200; Date.now() < end; );
  };
  const controller = new AbortController();
  server.use("tools/call", ({ params }, next) => {
    // The next call was taken from the queue with this one.
    if (params.name === "first") block(controller.abort());
    return next();
  });
  for (const name of ["first", "second"]) server.registerTool(name, {}, () => name);
  const client = await Client.connect(server);
  const calls = [client.callTool("first"), client.callTool("second", {}, { signal: controller.signal })];
  block();
  const [first, second] = await Promise.allSettled(calls);
  assert.deepEqual([first.value.text, second.reason.kind, failures], ["first", "cancelled", []]);
  await client.close();
  await server.close();
});

test("next rejects with the handler's error, and the caller gets the same response as without middleware", async () => {
  const server = failing();
  const seen = [];
  server.use(async (_, next) => {
    try {
      return await next();
    } catch (error) {
      seen.push(error.constructor);
      throw error;
    }
  });
  server.use("tools/call", async ({ params }, next) => {
    try {
      return await next();
    } catch (error) {
      if (params.arguments?.map && error instanceof Broken) throw new ToolError(`mapped: ${error.message}`, { cause: error });
      throw error;
    }
  });
  const client = await Client.connect(server);
  const ask = async (name, args) => {
    const { content, isError } = await client.callTool(name, args);
    return [content[0].text, isError];
  };
  assert.deepEqual(await ask("broken"), ["The tool failed because of an internal error.", true]);
  assert.deepEqual(await ask("told"), ["told", true]);
  await assert.rejects(client.getPrompt("refused"), { message: "refused (-32001)", code: -32001 });
  assert.deepEqual(seen, [Broken, ToolError, ProtocolError]);
  server.registerTool("mapped", { inputSchema: { type: "object", properties: { map: { type: "boolean" } } } }, () => {
    throw new Broken("inner");
  });
  assert.deepEqual(await ask("mapped", { map: true }), ["mapped: inner", true]);
  await client.close();
});

test("requests of in-memory clients reject with the handler's error if they opt in", async () => {
  const server = failing();
  const client = await Client.connect(server, { raiseExceptions: true });
  await assert.rejects(client.callTool("broken"), Broken);
  assert.equal((await client.callTool("told")).isError, true);
  await assert.rejects(client.getPrompt("refused"), ProtocolError);
  await client.close();
  await assert.rejects(Client.connect("http://127.0.0.1:1/mcp", { raiseExceptions: true }), /raiseExceptions/);
});

test("errors for invalid arguments have the caller in their stack", async () => {
  const info = { name: "s", version: "1" };
  const server = new Server(info);
  const client = await Client.connect(server);
  const auth = { clientNam: "x" };
  const limit = Error.stackTraceLimit;
  for (const call of [
    () => Client.connect(""),
    () => Client.connect("http://127.0.0.1:1/mcp", { foo: 1 }),
    () => Client.connect("http://127.0.0.1:1/mcp", { auth }),
    () => client.callTool("x", {}, { foo: 1 }),
    () => client.callTool("x", {}, { signal: 1 }),
    () => client.callTool("x", { when: () => 1 }),
    async () => new Server(info, { foo: 1 }),
    async () => server.registerTool("", {}, () => ""),
    () => server.listen({ foo: 1 }),
  ]) {
    async function businessFunction() {
      await call();
    }
    await assert.rejects(businessFunction(), ({ kind, stack }) => kind === "invalidArgument" && stack.includes("businessFunction"), String(call));
  }
  assert.equal(Error.stackTraceLimit, limit);
  await client.close();
});

test("client errors have the caller in their stack, and the facts of the connection", async () => {
  const client = await Client.connect(failing());
  async function businessFunction() {
    return await client.getPrompt("refused");
  }
  await assert.rejects(businessFunction(), ({ stack }) => stack.includes("businessFunction"));
  await client.close();
  async function connects() {
    await Client.connect("http://127.0.0.1:1/mcp");
  }
  await assert.rejects(connects(), (error) => error instanceof TransportError && error.stack.includes("connects") && error.reason === "refused" && error.code === "ECONNREFUSED");
  for (const status of [403, 503]) {
    const web = createServer((_, response) => response.writeHead(status, { "www-authenticate": "Bearer realm=x" }).end()).listen(0, "127.0.0.1");
    await once(web, "listening");
    await assert.rejects(Client.connect(`http://127.0.0.1:${web.address().port}/mcp`), { httpStatus: status, challenges: ["Bearer realm=x"] });
    web.close();
  }
});

// Errors thrown by handlers: the part for callers and the part for the log.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Client, ClosedError, ProtocolError, Server, setLogger } from "trunkline";

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
  for (let left = 100; logged.length === before && left > 0; left--) await sleep(10);
  return { told: content[0].text, log: logged.slice(before).join("\n") };
}

test("the log has the stacks of an error and its causes, and nothing else of it", async () => {
  const request = { headers: { authorization: "Bearer secret" } };
  const inner = Object.assign(new TypeError("inner"), { request });
  const outer = Object.assign(new Error("outer", { cause: inner }), { request, response: { request } });
  const { told, log } = await logOf(outer);
  assert.doesNotMatch(told, /outer|inner|secret/);
  assert.match(log, /Error: outer\n[^]*failures\.test[^]*caused by: TypeError: inner\n[^]*failures\.test/);
  assert.doesNotMatch(log, /secret|authorization/);
});

test("everything that can be thrown can be logged, within bounds", async () => {
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

test("once: work that throws at once is done again", async () => {
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

test("what describes a call is read before it ends", async () => {
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
  assert.throws(() => late.meta, (error) => error instanceof ClosedError && /the call is over/.test(error.message));
  const revision = (await client.callTool("early")).content[0].text;
  assert.equal(late.revision, revision);
});

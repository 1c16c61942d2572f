import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

import { errorOf, thrownBy } from "../dist/esm/errors.js";
import * as trunkline from "../dist/esm/index.js";
import { native } from "../dist/esm/native/native.js";

// The modules for bundlers do not look for the library of a checkout.
process.env.TRUNKLINE_NATIVE ||= fileURLToPath(new URL("../trunkline.node", import.meta.url));

const kinds = ["protocol", "timeout", "cancelled", "closed", "transport", "version", "invalidArgument", "busy", "blocking", "forked", "internal"];

for (const kind of kinds) {
  test(`kind ${kind} has its class`, () => {
    const name = `${kind[0].toUpperCase()}${kind.slice(1)}Error`;
    const error = errorOf(JSON.stringify({ kind, message: "m" }));
    assert.ok(error instanceof trunkline[name]);
    assert.ok(error instanceof trunkline.TrunklineError);
    assert.deepEqual([error.name, error.kind, error.message], [name, kind, "m"]);
  });
}

test("errors of another realm keep their kind: Jest runs programs in a context", () => {
  const foreign = runInNewContext(`Object.assign(new Error('{"kind":"closed","message":"m"}'), { code: "closed" })`);
  const error = thrownBy(foreign);
  assert.deepEqual([error instanceof trunkline.ClosedError, error.message], [true, "m"]);
});

test("a server gets the message of an abort, without its stack", async () => {
  const server = new trunkline.Server({ name: "a", version: "1" });
  const reasons = [];
  const controller = new AbortController();
  server.registerTool("wait", {}, (_, ctx) => new Promise(() => {
    ctx.signal.addEventListener("abort", () => reasons.push(ctx.signal.reason.message));
    controller.abort(runInNewContext('new Error("enough")'));
  }));
  const client = await trunkline.Client.connect(server);
  await assert.rejects(client.callTool("wait", {}, { signal: controller.signal }), { kind: "cancelled" });
  for (const end = Date.now() + 30_000; reasons.length === 0; await sleep(5)) assert.ok(Date.now() < end);
  assert.deepEqual(reasons, ["the call was cancelled: enough"]);
  await client.close();
});

test("jsdom has no setImmediate, and signals of its own", async () => {
  const { EventTarget, setImmediate } = globalThis;
  globalThis.EventTarget = class {
    addEventListener() {}
    removeEventListener() {}
  };
  delete globalThis.setImmediate;
  try {
    const { Client, Server } = createRequire(import.meta.url)("../dist/trunkline.js");
    const server = new Server({ name: "a", version: "1" });
    const client = await Client.connect(server);
    const signal = Object.assign(new globalThis.EventTarget(), { aborted: false });
    assert.deepEqual(await client.listTools({ signal }), []);
    await client.close();
  } finally {
    Object.assign(globalThis, { EventTarget, setImmediate });
  }
});

test("a protocol error carries code and data", () => {
  const error = errorOf('{"kind":"protocol","message":"m","code":-32602,"data":{"a":1}}');
  assert.deepEqual([error.code, error.data], [-32602, { a: 1 }]);
});

test("a string that is not an error object becomes an internal error with that message", () => {
  for (const [body, message] of [["panic: x", "panic: x"], ['{"kind":"constructor","message":"m"}', "m"]]) {
    assert.deepEqual([errorOf(body).kind, errorOf(body).message], ["internal", message]);
  }
});

test("ToolError keeps message and cause", () => {
  const error = new trunkline.ToolError("no such city", { cause: 1 });
  assert.deepEqual([error.name, error.message, error.cause], ["ToolError", "no such city", 1]);
});

test("errors thrown by native code keep their kind, as an error object or a string", () => {
  const port = new (native().Port)(() => {});
  const kindOf = (call) => {
    try {
      call();
    } catch (error) {
      return [error.code, thrownBy(error).kind];
    }
    return "nothing was thrown";
  };
  assert.deepEqual(kindOf(() => port.register("tool", "{}")), ["invalidArgument", "invalidArgument"]);
  assert.deepEqual(kindOf(() => port.register(1, 2)), ["StringExpected", "invalidArgument"]);
  assert.deepEqual(kindOf(() => port.complete(1, 99, "")), ["invalidArgument", "invalidArgument"]);
  // A contained panic.
  assert.equal(thrownBy(Object.assign(new Error("index out of bounds"), { code: "internal" })).kind, "internal");
  assert.equal(thrownBy(Object.assign(new Error("x"), { code: "ERR_WHATEVER" })).kind, "internal");
});

// Tools that run as tasks, in raw messages: at the client's request on 2025-11-25, through the
// extension on 2026-07-28.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Server } from "trunkline";

import { Peer, handshakeRevisions, modern } from "../test-support/peer.mjs";

const skill = "../test-programs/skill/";
const extension = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const answers = { "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }) };
const start = (options) => Peer.start("../test-programs/extensions.mjs", { answers, args: [skill], ...options });
const final = ["completed", "failed", "cancelled"];

/** Asks for a task until its status is one of these. */
async function until(peer, taskId, ...wanted) {
  for (let left = 3_000; left > 0; left--) {
    const task = await peer.result("tasks/get", { taskId });
    if (wanted.includes(task.status)) return task;
    await sleep(20);
  }
  throw new Error(`the task did not become ${wanted}`);
}

/** Asks for a task until its handler has begun. If it is cancelled before, it never begins. */
async function begun(peer, taskId) {
  for (let left = 3_000; left > 0; left--) {
    if ((await peer.result("tasks/get", { taskId })).statusMessage === "it has begun") return;
    await sleep(20);
  }
  throw new Error("the handler did not begin");
}

async function stops(peer) {
  for (let left = 3_000; left > 0; left--) {
    if ((await peer.call("aborted")) === "1") return;
    await sleep(20);
  }
  throw new Error("the handler was not told");
}

describe("tasks on 2025-11-25", () => {
  let peer;
  before(async () => (peer = await start({ revision: "2025-11-25", capabilities: { elicitation: {} } })));
  after(() => peer.close());
  const call = (name, args = {}) => peer.request("tools/call", { name, arguments: args, task: {} });
  const begin = async (name) => (await call(name)).result.task;

  test("TSK-01: support for tasks is declared", async () => {
    assert.deepEqual(peer.server.capabilities.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
    const { tools } = await peer.result("tools/list");
    const support = Object.fromEntries(tools.filter(({ execution }) => execution).map(({ name, execution }) => [name, execution.taskSupport]));
    assert.deepEqual(support, { slow: "optional", endless: "required", aborted: "forbidden", fails: "optional", breaks: "optional", asks: "optional", deferred: "optional" });
  });

  test("TSK-05, TSK-07: tools that forbid tasks, and tools that require them", async () => {
    assert.equal((await call("aborted")).error.code, -32601);
    assert.equal((await peer.request("tools/call", { name: "endless" })).error.code, -32601);
  });

  test("TSK-10, TSK-12, TSK-21: a task, its message, and its result", async () => {
    const task = await begin("slow");
    assert.deepEqual([task.status, task.ttl, task.pollInterval], ["working", 3_600_000, 50]);
    const { content } = await peer.result("tasks/result", { taskId: task.taskId });
    assert.equal(content[0].text, "done");
    const told = await until(peer, task.taskId, "completed");
    assert.equal(told.statusMessage, "half of it is done");
    assert.equal(await peer.call("slow"), "done");
  });

  test("TSK-21, TSK-22: failures", async () => {
    const failed = await begin("fails");
    const { isError, content } = await peer.result("tasks/result", { taskId: failed.taskId });
    assert.deepEqual([isError, content[0].text, (await until(peer, failed.taskId, ...final)).status], [true, "it failed", "failed"]);
    const broken = await begin("breaks");
    const { error } = await peer.request("tasks/result", { taskId: broken.taskId });
    assert.deepEqual([error.code, error.message, error.data], [-32000, "it broke", { a: 1 }]);
  });

  test("TSK-14: a task asks the client", async () => {
    const { taskId } = await begin("asks");
    await until(peer, taskId, "input_required", "completed");
    assert.equal((await peer.result("tasks/result", { taskId })).content[0].text, "Hello, Ada");
  });

  test("TSK-30: a cancelled task aborts its handler's signal", async () => {
    const { taskId } = await begin("endless");
    await begun(peer, taskId);
    assert.equal((await peer.result("tasks/cancel", { taskId })).status, "cancelled");
    await stops(peer);
  });
});

describe("tasks on 2026-07-28", () => {
  let peer;
  before(async () => (peer = await start({ revision: modern, capabilities: { elicitation: {}, ...extension } })));
  after(() => peer.close());
  const begin = async (name, args = {}) => {
    const result = await peer.result("tools/call", { name, arguments: args });
    assert.equal(result.resultType, "task");
    return result;
  };

  test("TKX-01, TKX-10, TKX-30: a task that contains its result", async () => {
    const { capabilities } = await peer.result("server/discover");
    assert.deepEqual(capabilities.extensions["io.modelcontextprotocol/tasks"], {});
    const { taskId, status, pollIntervalMs } = await begin("slow");
    assert.deepEqual([status, pollIntervalMs], ["working", 50]);
    const done = await until(peer, taskId, ...final);
    assert.deepEqual([done.status, done.statusMessage, done.result.content[0].text], ["completed", "half of it is done", "done"]);
  });

  test("TKX-11: a tool that failed has completed; a JSON-RPC error has not", async () => {
    const failed = await until(peer, (await begin("fails")).taskId, ...final);
    assert.deepEqual([failed.status, failed.result.isError], ["completed", true]);
    const broken = await until(peer, (await begin("breaks")).taskId, ...final);
    assert.deepEqual([broken.status, broken.error.code, broken.error.data], ["failed", -32000, { a: 1 }]);
  });

  test("TKX-10, TKX-17: a task waits for input, which arrives through tasks/update", async () => {
    const { taskId } = await begin("asks");
    const { inputRequests } = await until(peer, taskId, "input_required");
    const [[key, { method }]] = Object.entries(inputRequests);
    assert.equal(method, "elicitation/create");
    await peer.result("tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content: { name: "Bob" } } } });
    assert.equal((await until(peer, taskId, ...final)).result.content[0].text, "Hello, Bob");
  });

  test("TKX-09: a deferred task begins as a call, and becomes a task only if it says so", async () => {
    const { taskId } = await begin("deferred", { long: true });
    assert.deepEqual(peer.asked.splice(0), ["elicitation/create"]);
    assert.equal((await until(peer, taskId, ...final)).result.content[0].text, "Hello, Ada");
    assert.equal(await peer.call("deferred"), "Hello, Ada");
  });

  test("TKX-17: a cancelled task aborts its handler's signal", async () => {
    const { taskId } = await begin("endless");
    await begun(peer, taskId);
    await peer.result("tasks/cancel", { taskId });
    assert.equal((await until(peer, taskId, ...final)).status, "cancelled");
    await stops(peer);
  });
});

test("TKX-02, TKX-05, TKX-26: clients without the extension get results, or an error that names the missing capability", async () => {
  const peer = await start({ revision: modern, capabilities: { elicitation: {} } });
  try {
    assert.equal(await peer.call("slow"), "done");
    assert.equal(await peer.call("deferred", { long: true }), "Hello, Ada");
    const { error } = await peer.request("tools/call", { name: "endless" });
    assert.deepEqual([error.code, error.data.requiredCapabilities], [-32021, extension]);
  } finally {
    await peer.close();
  }
});

for (const revision of handshakeRevisions.filter((revision) => revision < "2025-11-25")) {
  test(`task messages of a handler have no effect without tasks, revision ${revision}`, async () => {
    const peer = await start({ revision });
    try {
      assert.equal(await peer.call("slow"), "done");
      assert.ok((await peer.result("tools/list")).tools.every(({ execution }) => execution === undefined));
    } finally {
      await peer.close();
    }
  });
}

test("restartTask needs a tool whose calls are tasks from the start", () => {
  for (const options of [{}, { task: "optional", deferTask: true }]) {
    const server = new Server({ name: "films", version: "1.0.0" });
    assert.throws(
      () => server.registerTool("render", { ...options, restartTask: true }, () => "done"),
      /Tool render: restarting tasks: needs/u,
    );
  }
});

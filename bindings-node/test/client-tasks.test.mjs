// Client tasks: one API for 2025-11-25 and for the extension of 2026-07-28.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { CancelledError, Client, ClosedError, InvalidArgumentError, ProtocolError, Server, TimeoutError, ToolError } from "trunkline";

const withTasks = ["2025-11-25", "2026-07-28"];
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const weather = { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] };

/** Connects to a server whose tools are tasks, and closes both. */
async function withReports(options, use) {
  const server = new Server({ name: "reports", version: "1.0.0" }, { taskPollInterval: 20 });
  const { promise: gate, resolve: goOn } = deferred();
  const { promise: begun, resolve: begin } = deferred();
  const aborted = [];
  const task = "optional";
  server.registerTool("report", { task }, async (_, ctx) => {
    ctx.setTaskMessage("half of it is written");
    await ctx.progress(1, 2);
    await gate;
    return "the report";
  });
  server.registerTool("ticks", { task }, async (_, ctx) => {
    const over = gate.then(() => true);
    for (let tick = 0; tick < 1000 && !(await Promise.race([over, sleep(10)])); tick++) ctx.setTaskMessage(String(tick));
    return "over";
  });
  server.registerTool("measure", { task: "required", outputSchema: weather }, () => ({ degrees: 21.5 }));
  server.registerTool("fails", { task }, () => {
    throw new ToolError("it failed");
  });
  server.registerTool("breaks", { task }, () => {
    throw new ProtocolError("it broke", { code: -32000, data: { a: 1 } });
  });
  server.registerTool("endless", { task }, async (_, ctx) => {
    begin();
    await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => aborted.push("endless"));
    return "never";
  });
  server.registerTool("asks", { task }, async (_, ctx) => `Hello, ${(await ctx.elicit("Who?", form, { key: "who" })).content.name}`);
  server.registerTool("plain", {}, () => "at once");
  try {
    const client = await Client.connect(server, options);
    try {
      await use(client, { goOn, begun, aborted });
    } finally {
      await client.close();
    }
  } finally {
    await server.close();
  }
}

function deferred() {
  let resolve;
  const promise = new Promise((keep) => (resolve = keep));
  return { promise, resolve };
}

const text = async (result) => (await result).content[0].text;

for (const revision of withTasks) {
  test(`TSK-06, TKX-03, TKX-16: a task is a stream of states with a result, revision ${revision}`, () =>
    withReports({ revision }, async (client, { goOn }) => {
      const task = await client.startTask("report", {}, { ttl: 60_000 });
      assert.equal(task.state.status, "working");
      await assert.rejects(task.result({ timeout: 10 }), TimeoutError);
      goOn();
      const states = [];
      for await (const state of task) states.push(state.status);
      assert.equal(states.at(-1), "completed");
      assert.equal(task.state.status, "completed");
      assert.equal(await text(task.result()), "the report");
      task.close();
      await assert.rejects(task.result(), ClosedError);

      const again = await client.resumeTask(task.id);
      assert.equal(await text(again.result()), "the report");
      assert.equal((await client.getTask(task.id)).status, "completed");
      // TSK-06, TKX-52: a call whose caller wants only the result.
      assert.deepEqual((await client.callTool("measure")).structuredContent, { degrees: 21.5 });
      const { structuredContent } = await (await client.startTask("measure")).result({ result: weather });
      assert.equal(structuredContent.degrees, 21.5);
    }));

  test(`TSK-04: the result of a call without a task is available immediately, revision ${revision}`, () =>
    withReports({ revision }, async (client) => {
      const task = await client.startTask("plain");
      assert.deepEqual([task.id, task.state, (await task.next()).done], [undefined, undefined, true]);
      assert.equal(await text(task.result()), "at once");
      await task.cancel();
    }));

  test(`TSK-21, TSK-30, TSK-31: failures of tasks are typed, revision ${revision}`, () =>
    withReports({ revision }, async (client, { begun, aborted }) => {
      const broken = client.startTask("breaks").then((task) => task.result());
      await assert.rejects(broken, (error) => error instanceof ProtocolError && error.code === -32000 && error.data.a === 1);
      const failed = await client.startTask("fails");
      assert.equal((await failed.result()).isError, true);
      await assert.rejects(failed.result({ raiseOnError: true }), ToolError);

      const endless = await client.startTask("endless");
      await begun; // a task that is cancelled before never begins
      await endless.cancel();
      await assert.rejects(endless.result(), CancelledError);
      // The caller's signal is not the cause.
      await assert.rejects(endless.result({ signal: new AbortController().signal }), (error) => error instanceof CancelledError && !error.message.includes("signal"));
      for (let left = 3_000; left > 0 && aborted.length === 0; left--) await sleep(10);
      assert.deepEqual(aborted, ["endless"]);
      await assert.rejects(client.resumeTask("nobody"), (error) => error instanceof ProtocolError && error.code === -32602);
    }));

  test(`TSK-19, TKX-32: handlers supply the input of tasks, revision ${revision}`, () =>
    withReports({ revision, onElicit: () => ({ action: "accept", content: { name: "Ada" } }) }, async (client) => {
      const task = await client.startTask("asks");
      assert.equal(await text(task.result({ timeout: 60_000 })), "Hello, Ada");
    }));

  test(`task states reach their handler, revision ${revision}`, () => {
    const seen = [];
    return withReports({ revision, onTaskStatus: (state) => seen.push(state) }, async (client, { goOn }) => {
      const task = await client.startTask("ticks");
      for (let left = 3_000; left > 0 && seen.length === 0; left--) await sleep(10);
      goOn();
      assert.equal(await text(task.result()), "over");
      assert.deepEqual([...new Set(seen.map(({ taskId }) => taskId))], [task.id]);
    });
  });

  test(`closing a task ends a pending wait, revision ${revision}`, () =>
    withReports({ revision }, async (client, { goOn }) => {
      const task = await client.startTask("report");
      const waiting = assert.rejects(task.result(), ClosedError);
      await task[Symbol.asyncDispose]();
      await waiting;
      assert.equal((await task.next()).done, true);
      goOn();
      assert.equal(await text((await client.resumeTask(task.id)).result()), "the report");
    }));
}

test("TKX-32: the caller answers a task itself", () =>
  withReports({ revision: "2026-07-28", capabilities: { elicitation: {} } }, async (client) => {
    const task = await client.startTask("asks", {}, { manualInput: true });
    let state = task.state;
    while (state.status !== "input_required") ({ value: state } = await task.next());
    assert.equal(state.inputRequests.who.params.message, "Who?");
    task.close();
    // Another program may resume the task.
    const again = await client.resumeTask(task.id, { manualInput: true });
    await again.respond({ who: { action: "accept", content: { name: "Ada" } } }, { timeout: 60_000 });
    assert.equal(await text(again.result({ timeout: 60_000 })), "Hello, Ada");
  }));

test("TSK-02, TSK-10: a server sends its requests as tasks", async () => {
  const server = new Server({ name: "asks", version: "1.0.0" }, { clientRequestTasks: true });
  server.registerTool("ask", {}, async (_, ctx) => `Hello, ${(await ctx.elicit("Who?", form)).content.name}`);
  const onElicit = () => ({ action: "accept", content: { name: "Ada" } });
  for (const maxHostTasks of [undefined, 0]) {
    const client = await Client.connect(server, { revision: "2025-11-25", onElicit, maxHostTasks, hostTaskTtl: 60_000 });
    assert.equal(await text(client.callTool("ask", {}, { timeout: 60_000 })), "Hello, Ada");
    await client.close();
  }
  await server.close();
});

test("PRG-07: progress arrives while waiting for the result", () =>
  withReports({ revision: "2025-11-25" }, async (client, { goOn }) => {
    const seen = [];
    const task = await client.startTask("report");
    const onProgress = ({ progress, total }) => {
      seen.push([progress, total]);
      goOn();
    };
    assert.equal(await text(task.result({ onProgress })), "the report");
    assert.deepEqual(seen, [[1, 2]]);
  }));

test("there are no tasks before 2025-11-25", () =>
  withReports({ revision: "2025-06-18" }, (client) => assert.rejects(client.resumeTask("nobody"), InvalidArgumentError)));

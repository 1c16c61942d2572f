// Custom stores.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { BusyError, checkStore, Client, InvalidArgumentError, Server, setLogger, StoreError } from "trunkline";

import { StoreError as OtherStoreError } from "../dist/esm/index.js";

const timeoutMs = 30_000;

/** A store that fails on demand. */
class Kept {
  texts = new Map();
  logs = new Map();
  position = 0;
  fault;

  async usable() {
    if (this.fault === "silence") await sleep(timeoutMs, undefined, { ref: false });
    if (this.fault instanceof Error) throw this.fault;
  }

  now(key) {
    const kept = this.texts.get(key);
    return kept?.ends > Date.now() ? kept.text : undefined;
  }

  async get(key) {
    await this.usable();
    return this.now(key);
  }

  async put(key, text, keepFor) {
    await this.usable();
    this.texts.set(key, { ends: Date.now() + keepFor, text });
  }

  async putIf(key, expected, text, keepFor) {
    await this.usable();
    if (this.fault === "nonsense") return "perhaps";
    if (this.now(key) !== expected) return false;
    this.texts.set(key, { ends: Date.now() + keepFor, text });
    return true;
  }

  async remove(key) {
    await this.usable();
    this.texts.delete(key);
    this.logs.delete(key);
  }

  async append(log, entry, maxEntries, keepFor) {
    await this.usable();
    const entries = [...this.entries(log), { position: ++this.position, text: entry }].slice(-maxEntries);
    this.logs.set(log, { ends: Date.now() + keepFor, entries });
    return this.position;
  }

  async read(log, after, limit) {
    await this.usable();
    return this.entries(log)
      .filter(({ position }) => position > after)
      .slice(0, limit);
  }

  entries(log) {
    const kept = this.logs.get(log);
    return kept?.ends > Date.now() ? kept.entries : [];
  }
}

function reports(store, options = {}) {
  const server = new Server({ name: "reports", version: "1" }, { store, taskPollInterval: 20, ...options });
  server.registerTool("report", { task: "optional" }, () => "the report");
  server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text);
  return server;
}

test("a custom store fulfils the contract", async () => {
  const store = new Kept();
  assert.deepEqual(await checkStore(store), []);
  assert.equal(store.texts.size + store.logs.size, 0, "the check removes what it has left");
  assert.deepEqual(await checkStore("memory:"), []);
});

test("the check names the violations", async () => {
  class Forgetful extends Kept {
    async putIf(key, expected, text, keepFor) {
      await this.put(key, text, keepFor);
      return true;
    }
    async append() {
      throw new RangeError("no table of logs");
    }
  }
  const findings = await checkStore(new Forgetful());
  assert.ok(findings.some((finding) => finding.startsWith("conditions: put_if with an empty text")), findings.join("\n"));
  assert.match(findings.find((finding) => finding.startsWith("logs: ")), /RangeError: no table of logs/);
});

test("an object that lacks methods is refused", () => {
  assert.throws(() => reports({ get() {} }), (error) => error instanceof InvalidArgumentError && error.message.includes("it lacks put, putIf, remove, append, read"));
});

test("tasks in a custom store outlive the server", async () => {
  const store = new Kept();
  const one = reports(store);
  const client = await Client.connect(one);
  const task = await client.startTask("report");
  await task.result();
  await client.close();
  await one.close();
  const other = reports(store);
  const again = await Client.connect(other);
  assert.equal((await (await again.resumeTask(task.id)).result()).text, "the report");
  await again.close();
  await other.close();
});

for (const [name, fault, reason] of [
  ["away", new RangeError("the database is gone"), "RangeError: the database is gone"],
  ["full", new StoreError("no space left", "full"), "The store of the program is full: no space left"],
  ["full, says another copy of the package", new OtherStoreError("no space left", "full"), "The store of the program is full: no space left"],
  ["nonsense", "nonsense", "invalid return value of store_put_if: done: must be true or false, not"],
  ["silent", "silence", "it did not answer within 1s"],
]) {
  test(`a store failure is a typed error, and other calls continue: ${name}`, { timeout: timeoutMs }, async () => {
    const store = new Kept();
    const server = reports(store, { storeDeadline: 1_000 });
    const client = await Client.connect(server);
    const logged = [];
    setLogger(({ message }) => logged.push(message));
    try {
      store.fault = fault;
      await assert.rejects(client.startTask("report"), (error) => error instanceof BusyError && error.message.includes("the store of tasks is not available"));
      assert.equal((await client.callTool("echo", { text: "hi" })).text, "hi");
      store.fault = undefined;
      // A store that has failed is left alone for a while.
      let task;
      while (!task) {
        try {
          task = await client.startTask("report");
        } catch (error) {
          assert.ok(error instanceof BusyError, String(error));
          await sleep(50);
        }
      }
      assert.equal((await task.result()).text, "the report");
      while (!logged.some((message) => message.includes(reason))) await sleep(20);
    } finally {
      setLogger(undefined);
      await client.close();
      await server.close();
    }
  });
}

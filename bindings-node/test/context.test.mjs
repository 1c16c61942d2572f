// AsyncLocalStorage in handlers: nothing of the first user of this package.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const storage = new AsyncLocalStorage();
const fixture = [process.execPath, fileURLToPath(new URL("../../tests/fixtures/node/server.mjs", import.meta.url)), "--stdio"];

test("handlers do not run in the context of the first request", async () => {
  // The port of this thread is made here.
  const server = storage.run("the first request", () => new Server({ name: "s", version: "1" }));
  server.registerTool("who", {}, () => String(storage.getStore()));
  server.registerTool("later", {}, async () => {
    await new Promise(setImmediate);
    return String(storage.getStore());
  });
  const client = await storage.run("the second", () => Client.connect(server));
  const ask = async (name) => (await client.callTool(name)).content[0].text;
  // More than one batch of events, too.
  const calls = Array.from({ length: 800 }, (_, at) => storage.run(at, () => ask(at % 2 ? "who" : "later")));
  assert.deepEqual([...new Set(await Promise.all(calls))], ["undefined"]);
  await client.close();
});

test("events that a pipe brings do not run in the context of the one who connected", async () => {
  const client = await storage.run("the one who connects", () => Client.connect(fixture, { revision: "2025-11-25" }));
  const heard = [];
  client.on("notification", () => heard.push(String(storage.getStore())));
  // After a few turns the event loop reads the pipe itself.
  for (let at = 0; at < 30; at++) await storage.run(at, () => client.callTool("echo", { message: "hi" }));
  await storage.run("a caller", () => client.callTool("test_tool_with_logging"));
  assert.deepEqual(heard, ["undefined", "undefined", "undefined"]);
  await client.close();
});

test("whoever calls gets the progress in its own context", async () => {
  const server = new Server({ name: "s", version: "1" });
  server.registerTool("steps", {}, async (_, ctx) => {
    await ctx.progress(1, 2);
    return "done";
  });
  const client = await Client.connect(server);
  const seen = [];
  await storage.run("a caller", () => client.callTool("steps", {}, { onProgress: () => seen.push(storage.getStore()) }));
  assert.deepEqual(seen, ["a caller"]);
  await client.close();
});

// The operations of a client, against a server in memory and a child process, on a legacy and a
// modern revision.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client, Server, ToolError, TransportError } from "trunkline";

import { makeServer } from "../test-programs/operations-server.mjs";

const program = fileURLToPath(new URL("../test-programs/operations-server.mjs", import.meta.url));
const targets = { "a server in memory": makeServer, "a child process": () => [process.execPath, program] };
const revisions = ["2024-11-05", "2025-11-25", "2026-07-28"];

const pages = async (page) => {
  const found = [];
  for (let cursor, result; !result || cursor; cursor = result.nextCursor) found.push((result = await page(cursor)));
  return found;
};
const names = (items) => items.map(({ name }) => name);

const operations = {
  "listTools and listToolsPage": async (client) => {
    assert.deepEqual(names(await client.listTools()), ["a", "b", "c", "greet"]);
    const all = await pages((cursor) => client.listToolsPage(cursor));
    assert.deepEqual(all.map(({ tools }) => names(tools)), [["a", "b"], ["c", "greet"]]);
  },
  "callTool": async (client) => {
    const progress = [];
    const result = await client.callTool("greet", { zone: "z", area: "a" }, { onProgress: (seen) => progress.push(seen), meta: { "test/asked": 7 } });
    assert.deepEqual([result.content[0].text, result._meta["test/given"]], ["z a", 7]);
    assert.equal(progress[0].progress, 1);
    assert.equal((await client.callTool("a")).content[0].text, "a");
    await assert.rejects(client.callTool("nothing"), { kind: "protocol", code: -32602 });
  },
  "listResources and listResourcesPage": async (client) => {
    const expected = ["a", "b", "c", "bytes", "broken"];
    assert.deepEqual(names(await client.listResources()), expected);
    const all = await pages((cursor) => client.listResourcesPage(cursor));
    assert.deepEqual(all.flatMap(({ resources }) => names(resources)), expected);
    assert.equal(all.length, 3);
  },
  "listResourceTemplates and listResourceTemplatesPage": async (client) => {
    const templates = await client.listResourceTemplates();
    assert.deepEqual(templates.map(({ uriTemplate }) => uriTemplate), ["test://a/{item}", "test://b/{item}", "test://c/{item}"]);
    const all = await pages((cursor) => client.listResourceTemplatesPage(cursor));
    assert.deepEqual(all.map(({ resourceTemplates }) => resourceTemplates.length), [2, 1]);
  },
  "readResource": async (client) => {
    const { contents } = await client.readResource("test://b");
    assert.deepEqual(contents, [{ uri: "test://b", mimeType: "text/plain", text: "contents of b" }]);
    assert.equal((await client.readResource("test://c/7")).contents[0].text, "7 of c");
    assert.equal((await client.readResource("test://bytes")).contents[0].blob, "AQID");
    await assert.rejects(client.readResource("test://nothing"), { kind: "protocol" });
    await assert.rejects(client.readResource("test://broken"), { kind: "protocol", code: -32603 });
  },
  "listPrompts and listPromptsPage": async (client) => {
    const prompts = await client.listPrompts();
    assert.deepEqual(names(prompts), ["a", "b", "c"]);
    assert.deepEqual(prompts[0].arguments, [{ name: "city", required: true }]);
    const all = await pages((cursor) => client.listPromptsPage(cursor));
    assert.deepEqual(all.map(({ prompts }) => prompts.length), [2, 1]);
  },
  "getPrompt": async (client) => {
    const { messages } = await client.getPrompt("a", { city: "Oslo" });
    assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "a in Oslo" } }]);
    assert.equal((await client.getPrompt("b")).messages[0].content.text, "b in undefined");
    await assert.rejects(client.getPrompt("a"), { kind: "protocol", code: -32602 });
  },
  "complete": async (client) => {
    const ref = { type: "ref/prompt", name: "a" };
    const { completion } = await client.complete(ref, { name: "city", value: "Os" });
    assert.deepEqual(completion.values, ["Oslo", "Osaka"]);
    const { completion: item } = await client.complete({ type: "ref/resource", uri: "test://a/{item}" }, { name: "item", value: "x" });
    assert.deepEqual(item.values, ["x1", "x2"]);
    if (client.revision === "2024-11-05") return; // has no context
    const known = await client.complete(ref, { name: "city", value: "Os" }, { arguments: { not: "Oslo" } });
    assert.deepEqual(known.completion.values, ["Osaka"]);
  },
  "ping": async (client) => {
    assert.equal(await client.ping(), undefined);
  },
};

for (const [where, target] of Object.entries(targets)) {
  for (const revision of revisions) {
    test(`every operation, with ${where}, on ${revision}`, async (t) => {
      const client = await Client.connect(target(), { revision });
      try {
        assert.equal(client.revision, revision);
        for (const [name, check] of Object.entries(operations)) await t.test(name, () => check(client));
      } finally {
        await client.close();
      }
    });
  }
}

test("operations accept request options", async () => {
  const server = new Server({ name: "slow", version: "1.0.0" });
  server.registerResource("slow", "test://slow", {}, () => new Promise(() => {}));
  server.registerPrompt("slow", {}, () => new Promise(() => {}));
  const client = await Client.connect(server);
  await assert.rejects(client.readResource("test://slow", { timeout: 20 }), { kind: "timeout" });
  await assert.rejects(client.getPrompt("slow", {}, { signal: AbortSignal.timeout(20) }), { kind: "cancelled" });
  await assert.rejects(client.listPrompts({ timeout: -1 }), { name: "InvalidArgumentError" });
  await assert.rejects(client.callTool("slow", [1]), { name: "InvalidArgumentError", message: /arguments of "slow" must be an object/ });
  await assert.rejects(client.complete({ type: "ref/prompt", name: "slow" }, { name: "x", value: 1n }), { name: "InvalidArgumentError" });
  await server.close();
});

test("members keep their order", async () => {
  const server = new Server({ name: "ordered", version: "1.0.0" });
  const reply = { zeta: 1, alpha: { y: 1, b: 2 }, mid: [{ q: 1, c: 2 }] };
  const properties = Object.fromEntries(["reasoning", "answer", "zoo", "b"].map((name) => [name, { type: "string", title: name, description: "d" }]));
  const schema = { type: "object", properties, required: ["reasoning", "answer"] };
  const outputSchema = { type: "object", properties: { zeta: {}, alpha: {}, mid: {} } };
  const text = (value) => JSON.stringify(value);
  server.registerTool("ordered", { inputSchema: schema, outputSchema, _meta: { "z/z": 1, "a/a": { d: 1, c: 2 } } }, () => reply);
  server.registerTool("echo", { inputSchema: { type: "object" } }, (args, ctx) => ({ content: [], structuredContent: args, _meta: { "z/z": ctx.meta["z/z"], "a/a": 1 } }));
  server.registerTool("asks", {}, async (_, ctx) => text((await ctx.elicit("?", schema)).content));
  for (const revision of revisions.slice(1)) {
    const forms = [];
    const content = { zoo: "1", reasoning: "2", b: "3", answer: "4" };
    const onElicit = ({ requestedSchema }) => (forms.push(text(requestedSchema)), { action: "accept", content });
    const client = await Client.connect(server, { revision, onElicit });
    const [tool, echo] = await client.listTools();
    assert.equal(text(tool.inputSchema), text(schema), revision);
    if (revision >= "2025-06-18") assert.equal((await client.callTool("asks")).text, text(content));
    assert.deepEqual(forms, revision >= "2025-06-18" ? [text(schema)] : [], revision);
    assert.equal(text(tool.outputSchema), text(outputSchema));
    assert.equal(text(Object.entries(tool._meta)), text([["z/z", 1], ["a/a", { d: 1, c: 2 }]]));
    assert.equal(echo.name, "echo");
    const result = await client.callTool("ordered", { reasoning: "r", answer: "a" });
    assert.equal(text(result.structuredContent), text(reply));
    assert.equal(result.content[0].text, text(reply));
    const echoed = await client.callTool("echo", { zoo: 1, b: { y: 1, a: 2 } }, { meta: { "z/z": { q: 1, a: 2 } } });
    assert.equal(text(echoed._meta), text({ "z/z": { q: 1, a: 2 }, "a/a": 1, ...echoed._meta }));
    assert.equal(text(echoed._meta["z/z"]), text({ q: 1, a: 2 }));
    assert.equal(text(echoed.structuredContent), text({ zoo: 1, b: { y: 1, a: 2 } }));
    await client.close();
  }
  await server.close();
});

test("a result is checked and typed by the caller's schema", async () => {
  const server = new Server({ name: "typed", version: "1" });
  const sums = { type: "object", properties: { z: { type: "number" } }, required: ["z"] };
  server.registerTool("add", { outputSchema: sums }, () => ({ z: 3 }));
  server.registerTool("names", { outputSchema: { type: "array", items: { type: "string" } } }, () => ["a", "b"]);
  server.registerTool("plain", {}, () => "text");
  server.registerTool("fail", {}, () => {
    throw new ToolError("no sums today");
  });
  const client = await Client.connect(server);
  assert.deepEqual((await client.callTool("add", {}, { result: sums })).structuredContent, { z: 3 });
  assert.deepEqual((await client.callTool("names", {}, { result: { type: "array" } })).structuredContent, { result: ["a", "b"] });
  const asked = { "~standard": { version: 1, vendor: "test", jsonSchema: { input: () => sums }, validate: ({ z }) => (z > 5 ? { value: { z } } : { issues: [{ message: "too small", path: ["z"] }] }) } };
  await assert.rejects(client.callTool("add", {}, { result: asked }), (error) => error instanceof TransportError && /\/z: too small/.test(error.message));
  await assert.rejects(client.callTool("names", {}, { result: sums }), (error) => error instanceof TransportError && /"?z"?/.test(error.message));
  await assert.rejects(client.callTool("plain", {}, { result: sums }), /no structuredContent/);
  assert.equal((await client.callTool("fail")).isError, true);
  await assert.rejects(client.callTool("fail", {}, { raiseOnError: true }), ToolError);
  await assert.rejects(client.callTool("fail", {}, { result: sums }), /no sums today/);
  await client.close();
});

test("CCH-04: a cached list is fetched again if the caller passes fresh", async () => {
  const server = new Server({ name: "kept", version: "1.0.0" }, { ttl: 60_000 });
  const client = await Client.connect(server, { revision: "2026-07-28" });
  server.registerTool("one", {}, () => "1");
  assert.equal((await client.listTools()).length, 1);
  server.registerTool("two", {}, () => "2");
  assert.equal((await client.listTools()).length, 1, "it is kept");
  assert.equal((await client.listTools({ fresh: true })).length, 2);
  await client.close();
  await server.close();
});

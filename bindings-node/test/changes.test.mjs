// Notifications of changed tools, on every revision and transport.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const fixture = [process.execPath, fileURLToPath(new URL("../../tests/fixtures/node/server.mjs", import.meta.url)), "--stdio"];

let server;
let listener;

before(async () => {
  server = new Server({ name: "changing", version: "1.0.0" });
  listener = await server.listen({ port: 0 });
});

after(() => server.close());

/**
 * Changes the tools until a notification arrives: over HTTP, the stream of notifications may open
 * shortly after the connection.
 */
async function changeUntil(heard) {
  for (const deadline = Date.now() + 60_000; !heard() && Date.now() < deadline; await sleep(20)) {
    const tool = server.registerTool("now_and_then", {}, () => "");
    await sleep(20);
    tool.remove();
  }
}

for (const revision of revisions) {
  for (const transport of ["memory", "http"]) {
    test(`onToolsChanged and the event, revision ${revision}, ${transport}`, async () => {
      const heard = { option: 0, event: 0, methods: new Set() };
      const client = await Client.connect(transport === "memory" ? server : listener.url, { revision, onToolsChanged: () => heard.option++ });
      try {
        client.on("toolsChanged", () => heard.event++);
        client.on("notification", ({ method }) => heard.methods.add(method));
        await changeUntil(() => heard.option > 0);
        assert.ok(heard.option > 0);
        assert.equal(heard.event, heard.option);
        assert.ok(heard.methods.has("notifications/tools/list_changed"));
        const late = server.registerTool("late", {}, () => "here");
        assert.equal((await client.callTool("late")).content[0].text, "here");
        late.remove();
      } finally {
        await client.close();
      }
    });
  }

  test(`onToolsChanged, revision ${revision}, stdio`, async () => {
    const client = await Client.connect(fixture, { revision, onToolsChanged: () => {} });
    try {
      const told = once(client, "toolsChanged", { signal: AbortSignal.timeout(60_000) });
      await client.callTool("test_trigger_tool_change");
      await told;
    } finally {
      await client.close();
    }
  });

  test(`listening without onToolsChanged is an error that names the option, revision ${revision}`, async () => {
    const client = await Client.connect(server, { revision });
    try {
      assert.throws(() => client.on("toolsChanged", () => {}), { kind: "invalidArgument", message: /onToolsChanged/ });
      await assert.rejects(once(client, "toolsChanged"), { kind: "invalidArgument" });
      assert.equal(client.listenerCount("toolsChanged"), 0);
      client.on("notification", () => {});
    } finally {
      await client.close();
    }
  });
}

test("RES-12: template variables cannot leave their folder unless the template allows it", async () => {
  const server = new Server({ name: "files", version: "1.0.0" });
  server.registerResource("files", "files://{name}", {}, (uri, { name }) => name);
  server.registerResource("open", "open://{name}", { unsafePaths: true }, (uri, { name }) => name);
  const client = await Client.connect(server);
  for (const uri of ["files://..%2F..%2Fetc%2Fpasswd", "files://%2Fetc%2Fpasswd", "files://a%00b"]) {
    await assert.rejects(client.readResource(uri), /not found/i, uri);
  }
  assert.equal((await client.readResource("files://a%2Fb")).contents[0].text, "a/b");
  assert.equal((await client.readResource("open://..%2Fetc")).contents[0].text, "../etc");
  assert.throws(() => server.registerResource("one", "files://one", { unsafePaths: true }, () => ""), /unsafePaths is only for templates/);
  await client.close();
  await server.close();
});

test("registered features can be changed and hidden", async () => {
  const server = new Server({ name: "registry", version: "1.0.0" });
  const tool = server.registerTool("old", { title: "T" }, () => "one");
  const resource = server.registerResource("note", "notes://one", {}, () => "note");
  const prompt = server.registerPrompt("plan", {}, () => "plan");
  server.registerTool("last", {}, () => "");
  let heard = 0;
  const client = await Client.connect(server, { onToolsChanged: () => heard++ });
  const names = async () => (await client.listTools()).map(({ name }) => name);
  tool.update({ description: "D" });
  const [shown] = await client.listTools();
  assert.deepEqual([shown.name, shown.title, shown.description], ["old", "T", "D"]);
  assert.equal((await client.callTool("old")).content[0].text, "one");
  tool.update({ name: "new", title: undefined, handler: () => "two" });
  assert.equal((await client.callTool("new")).content[0].text, "two");
  assert.deepEqual([await names(), (await client.listTools())[0].title], [["new", "last"], undefined]);
  assert.throws(() => tool.update({ name: "last" }), /already registered/);
  assert.equal((await client.callTool("new")).content[0].text, "two");
  resource.update({ uri: "notes://two" });
  assert.equal((await client.readResource("notes://two")).contents[0].text, "note");
  for (const registration of [tool, resource, prompt]) registration.disable();
  assert.deepEqual([await names(), await client.listResources(), await client.listPrompts()], [["last"], [], []]);
  await assert.rejects(client.callTool("new"), /Unknown tool/);
  for (const registration of [tool, resource, prompt]) registration.enable();
  assert.deepEqual([await names(), (await client.listPrompts()).length], [["new", "last"], 1]);
  for (const deadline = Date.now() + 60_000; heard === 0 && Date.now() < deadline; await sleep(5));
  assert.ok(heard > 0);
  tool.remove();
  tool.remove();
  tool.enable();
  assert.deepEqual(await names(), ["last"]);
  assert.throws(() => {
    tool.update({ title: "gone" });
  }, /the feature was removed/);
  await client.close();
  await server.close();
});

test("a duplicate is an error or replaces the existing feature", async () => {
  const server = new Server({ name: "registry", version: "1.0.0" }, { onDuplicate: "replace" });
  const old = server.registerTool("tool", {}, () => "one");
  server.registerTool("tool", {}, () => "two");
  old.remove();
  const client = await Client.connect(server);
  assert.equal((await client.callTool("tool")).content[0].text, "two");
  await client.close();
  await server.close();
  const strict = new Server({ name: "registry", version: "1.0.0" });
  strict.registerTool("tool", {}, () => "one");
  assert.throws(() => strict.registerTool("tool", {}, () => "two"), /already registered/);
  await strict.close();
});

test("a visibility hook hides features, and a handler that exceeds its timeout fails", async () => {
  const server = new Server({ name: "registry", version: "1.0.0" });
  const visible = async ({ clientInfo }) => clientInfo?.name === "admin";
  server.registerTool("secret", { visible }, () => "secret");
  server.registerResource("note", "notes://one", { visible }, () => "note");
  server.registerPrompt("plan", { visible }, () => "plan");
  server.registerTool(
    "broken",
    {
      visible: () => {
        throw new Error("as it should");
      },
    },
    () => "",
  );
  let aborted;
  const slow = (args, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve((aborted = true))));
  server.registerTool("slow", { timeout: 500 }, slow); // long enough for it to begin
  for (const [name, seen] of [["admin", ["secret", "slow"]], ["guest", ["slow"]]]) {
    const client = await Client.connect(server, { info: { name, version: "1.0.0" } });
    assert.deepEqual((await client.listTools()).map(({ name }) => name), seen);
    assert.equal((await client.listResources()).length + (await client.listPrompts()).length, seen.length === 2 ? 2 : 0);
    if (name === "guest") await assert.rejects(client.callTool("secret"), /Unknown tool: secret/);
    else assert.equal((await client.callTool("secret")).content[0].text, "secret");
    const { isError, content } = await client.callTool("slow");
    assert.deepEqual([isError, content[0].text], [true, "slow timed out after 500ms"]);
    await client.close();
  }
  for (const end = Date.now() + 60_000; !aborted; await sleep(5)) assert.ok(Date.now() < end, "it is not told");
  await server.close();
});

test("RES-12: the files of a directory are resources", async () => {
  const folder = await mkdtemp(join(tmpdir(), "trunkline-"));
  const root = join(folder, "root");
  await mkdir(root);
  await writeFile(join(folder, "secret.txt"), "secret");
  await writeFile(join(root, "a b.md"), "# A");
  await writeFile(join(root, ".env"), "key");
  const server = new Server({ name: "files", version: "1.0.0" });
  const directory = server.registerDirectory("docs://", root, { maxFileBytes: 10 });
  const client = await Client.connect(server);
  assert.deepEqual((await client.listResources()).map(({ uri }) => uri), ["docs://a%20b.md"]);
  const [{ text, mimeType }] = (await client.readResource("docs://a%20b.md")).contents;
  assert.deepEqual([text, mimeType], ["# A", "text/markdown"]);
  for (const uri of ["docs://..%2Fsecret.txt", "docs://.env", "docs://nothing"]) await assert.rejects(client.readResource(uri), /not found/i, uri);
  directory.remove();
  assert.deepEqual(await client.listResources(), []);
  assert.throws(() => server.registerDirectory("docs://", join(root, "nothing")), /path/);
  await client.close();
  await server.close();
  await rm(folder, { recursive: true });
});

test("CMP-03: completions need an existing prompt or template", async () => {
  const server = new Server({ name: "typos", version: "1.0.0" });
  server.registerPrompt("plan", { arguments: [{ name: "city" }] }, () => "");
  assert.throws(() => server.registerCompletion({ type: "ref/prompt", name: "nope" }, "x", () => []), /there is no prompt nope/);
  assert.throws(() => server.registerCompletion({ type: "ref/prompt", name: "plan" }, "gnre", () => []), /no argument gnre; the arguments are city/);
  server.registerCompletion({ type: "ref/prompt", name: "plan" }, "city", () => []);
  await server.close();
});

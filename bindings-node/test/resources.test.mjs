// Resources, templates and their completion, in raw messages on every revision.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, Server } from "trunkline";

import { Peer, modern, revisions } from "../test-support/peer.mjs";

const base64 = (text) => Buffer.from(text).toString("base64");

for (const revision of revisions) {
  describe(`resources on ${revision}`, () => {
    let peer;
    const read = async (uri) => (await peer.result("resources/read", { uri })).contents;
    before(async () => (peer = await Peer.start("../test-programs/features.mjs", { revision })));
    after(() => peer.close());

    test("RES-02, PAG-05: lists are paginated, with the members of the revision", async () => {
      const first = await peer.result("resources/list");
      assert.deepEqual(first.resources.map(({ uri }) => uri), ["notes://text", "notes://bytes", "notes://json"]);
      const { name, description, mimeType, annotations } = first.resources[0];
      assert.deepEqual([name, description, mimeType, annotations], ["text", "A text", "text/markdown", { priority: 1 }]);
      assert.deepEqual([first.ttlMs, first.cacheScope], revision === modern ? [1000, "public"] : [undefined, undefined]);
      const second = await peer.result("resources/list", { cursor: first.nextCursor });
      assert.deepEqual(second.resources.map(({ uri }) => uri), ["notes://folder", "notes://whole", "notes://broken"]);
      const provided = await peer.result("resources/list", { cursor: second.nextCursor });
      assert.deepEqual(provided.resources.map(({ uri }) => uri), ["rows://a", "rows://b", "rows://c"]);
      assert.equal(provided.nextCursor, undefined);
      const templates = await peer.result("resources/templates/list");
      assert.deepEqual(templates.resourceTemplates.map(({ uriTemplate }) => uriTemplate), ["notes://by-name/{name}{?lang}"]);
    });

    test("RES-11: text, bytes, data, several parts, complete results", async () => {
      assert.deepEqual(await read("notes://text"), [{ uri: "notes://text", mimeType: "text/markdown", text: "# Hi" }]);
      assert.deepEqual(await read("notes://bytes"), [{ uri: "notes://bytes", mimeType: "application/octet-stream", blob: "AQID" }]);
      const [json] = await read("notes://json");
      assert.deepEqual([json.mimeType, JSON.parse(json.text)], ["application/json", { uri: "notes://json", method: "resources/read", name: "notes://json" }]);
      assert.deepEqual(await read("notes://folder"), [
        { uri: "notes://folder/a", text: "a" },
        { uri: "notes://folder/b", mimeType: "text/plain", blob: base64("b") },
      ]);
      assert.deepEqual(await read("notes://whole"), [{ uri: "notes://elsewhere", text: "whole" }]);
    });

    test("template variables are percent-decoded and may be optional", async () => {
      const [{ text, uri }] = await read("notes://by-name/two%20words?lang=no");
      assert.deepEqual([text, uri], ['notes://by-name/two%20words?lang=no {"lang":"no","name":"two words"}', "notes://by-name/two%20words?lang=no"]);
      assert.match((await read("notes://by-name/one"))[0].text, / \{"name":"one"\}$/);
    });

    test("CCH-01: a resource has its own caching hints", async () => {
      const { ttlMs, cacheScope } = await peer.result("resources/read", { uri: "notes://text" });
      assert.deepEqual([ttlMs, cacheScope], revision === modern ? [5000, "public"] : [undefined, undefined]);
    });

    test("RES-05, RES-06, RES-08, RES-09: unknown resources, refusals of handlers, and failures", async () => {
      const failed = async (uri) => (await peer.request("resources/read", { uri })).error;
      const unknown = await failed("notes://unknown");
      assert.deepEqual([unknown.code, unknown.data.uri], [revision === modern ? -32602 : -32002, "notes://unknown"]);
      const { code, data } = await failed("notes://by-name/gone");
      assert.deepEqual([code, data.uri], [revision === modern ? -32602 : -32002, "notes://by-name/gone"]);
      assert.deepEqual(await failed("notes://by-name/nothing"), { code: -32602, message: "there is no such note", data: { uri: "notes://by-name/nothing" } });
      const broken = await failed("notes://broken");
      assert.equal(broken.code, -32603);
      assert.doesNotMatch(broken.message, /secret/);
    });

    test("a provider's resources can be read", async () => {
      assert.deepEqual(await read("rows://b"), [{ uri: "rows://b", blob: base64("rows://b") }]);
    });

    test("template variables are completed", async () => {
      const complete = (value, context) => peer.result("completion/complete", { ref: { type: "ref/resource", uri: "notes://by-name/{name}{?lang}" }, argument: { name: "name", value }, ...context });
      assert.deepEqual((await complete("t")).completion.values, ["two"]);
      if (revision < "2025-06-18") return;
      const known = await complete("o", { context: { arguments: { lang: "no" } } });
      assert.deepEqual([known.completion.values, known.completion.total], [["one"], 1]);
    });
  });
}

test("a resource or template whose handler returns nothing is not found", async () => {
  const server = new Server({ name: "notes", version: "1.0.0" });
  server.registerResource("gone", "notes://gone", {}, () => undefined);
  server.registerResource("rows", "rows://{id}", {}, () => null);
  for (const revision of ["2025-11-25", modern]) {
    const client = await Client.connect(server, { revision });
    for (const uri of ["notes://gone", "rows://1"]) await assert.rejects(client.readResource(uri), { kind: "protocol", code: revision === modern ? -32602 : -32002 }, uri);
    await client.close();
  }
  await server.close();
});

test("a URI that is no string is refused, and a URL object is its text", async () => {
  const server = new Server({ name: "notes", version: "1.0.0" });
  assert.throws(() => server.registerResource("five", 5, {}, () => ""), { kind: "invalidArgument", message: /needs the string member uri/ });
  server.registerResource("one", new URL("notes://one"), {}, (uri) => uri);
  const client = await Client.connect(server);
  assert.equal((await client.readResource("notes://one")).contents[0].text, "notes://one");
  await client.close();
  await server.close();
});

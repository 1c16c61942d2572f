// Prompts and the completion of their arguments, in raw messages on every revision.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Server } from "trunkline";
import { z } from "zod";

import { Peer, revisions } from "../test-support/peer.mjs";

const message = (text, role = "user") => ({ role, content: { type: "text", text } });

for (const revision of revisions) {
  describe(`prompts on ${revision}`, () => {
    let peer;
    const get = (name, args) => peer.result("prompts/get", { name, ...(args && { arguments: args }) });
    const refused = async (name, args) => (await peer.request("prompts/get", { name, arguments: args })).error;
    before(async () => (peer = await Peer.start("../test-programs/features.mjs", { revision })));
    after(() => peer.close());

    test("PRM-02: prompts are listed with their arguments, also those of a schema", async () => {
      const { prompts } = await peer.result("prompts/list");
      assert.deepEqual(prompts.map(({ name }) => name), ["plain", "greet", "typed"]);
      assert.equal(prompts[0].description, "A text");
      assert.deepEqual(prompts[1].arguments, [{ name: "name", description: "Whom", required: true }, { name: "style" }]);
      const [days, city] = prompts[2].arguments;
      assert.deepEqual([days.name, days.description, days.required, city.name], ["days", "How many", true, "city"]);
      assert.ok(!city.required);
      assert.deepEqual([prompts[0].title, city.title], revision >= "2025-06-18" ? ["Plain", "City"] : [undefined, undefined]);
    });

    test("PRM-09: texts, messages, content blocks and whole results", async () => {
      assert.deepEqual((await get("plain")).messages, [message("hello")]);
      assert.deepEqual((await get("greet", { name: "Ada" })).messages, [message("hello Ada, plain")]);
      const { messages } = await get("typed", { days: "2" });
      assert.deepEqual(messages, [
        message("3 in Oslo"),
        { role: "assistant", content: { type: "image", data: "aGk=", mimeType: "image/png" } },
        { role: "user", content: { type: "resource", resource: { uri: "notes://text", text: "# Hi" } } },
      ]);
      const whole = await get("whole");
      assert.deepEqual([whole.description, whole.messages], ["Made now", [message("hi")]]);
    });

    test("PRM-04, PRM-05: unknown prompts, missing arguments, and those that do not fit the schema, are -32602", async () => {
      assert.equal((await refused("unknown", {})).code, -32602);
      assert.match((await refused("greet", {})).message, /name/);
      const misfit = await refused("typed", { days: "9" });
      assert.equal(misfit.code, -32602);
      assert.match(misfit.message, /days/);
    });

    test("a provider's prompt", async () => {
      assert.deepEqual((await get("row", { a: "b" })).messages, [message("row"), message('{"a":"b"}')]);
    });

    test("CMP-02: arguments are completed, with at most 100 values", async () => {
      const complete = async (name, value) => (await peer.result("completion/complete", { ref: { type: "ref/prompt", name: "greet" }, argument: { name, value } })).completion;
      assert.deepEqual((await complete("style", "fr")).values, ["friendly"]);
      const many = await complete("name", "");
      assert.deepEqual([many.values.length, many.total, many.hasMore], [100, 150, true]);
    });
  });
}

test("prompts that contradict themselves are refused", () => {
  const server = new Server({ name: "test", version: "1.0.0" });
  assert.throws(() => server.registerPrompt("both", { argsSchema: z.object({}), arguments: [] }, () => ""), { kind: "invalidArgument", message: /argsSchema and arguments/ });
  assert.throws(() => server.registerPrompt("none", {}), { kind: "invalidArgument", message: /handler of prompt "none"/ });
  server.registerPrompt("twice", {}, () => "");
  assert.throws(() => server.registerPrompt("twice", {}, () => ""), { kind: "invalidArgument", message: /twice/ });
});

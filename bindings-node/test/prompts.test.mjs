// Prompts and the completion of their arguments, in raw messages on every revision.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, Server } from "trunkline";
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

    test("PRM-02: prompts are listed with their arguments, including those of a schema", async () => {
      const { prompts } = await peer.result("prompts/list");
      assert.deepEqual(prompts.map(({ name }) => name), ["plain", "greet", "typed"]);
      assert.equal(prompts[0].description, "A text");
      assert.deepEqual(prompts[1].arguments, [{ name: "name", description: "Whom", required: true }, { name: "style" }]);
      const [days, city] = prompts[2].arguments;
      assert.deepEqual([days.name, days.description, days.required, city.name], ["days", "How many", true, "city"]);
      assert.ok(!city.required);
      assert.deepEqual([prompts[0].title, city.title], revision >= "2025-06-18" ? ["Plain", "City"] : [undefined, undefined]);
    });

    test("PRM-09: strings, messages, content blocks and complete results", async () => {
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

    test("PRM-04, PRM-05: unknown prompts, missing arguments, and arguments that do not match the schema, are -32602", async () => {
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

test("a prompt that returns nothing has no messages", async () => {
  const server = new Server({ name: "t", version: "1" });
  server.registerPrompt("silent", {}, () => undefined);
  const client = await Client.connect(server);
  assert.deepEqual((await client.getPrompt("silent")).messages, []);
  await client.close();
  await server.close();
});

test("contradictory definitions are refused", () => {
  const server = new Server({ name: "test", version: "1.0.0" });
  assert.throws(() => server.registerPrompt("text", { argsSchema: z.string() }, () => ""), { kind: "invalidArgument", message: /must describe an object/ });
  assert.throws(() => server.registerPrompt("both", { argsSchema: z.object({}), arguments: [] }, () => ""), { kind: "invalidArgument", message: /argsSchema and arguments/ });
  assert.throws(() => server.registerPrompt("none", {}), { kind: "invalidArgument", message: /handler of prompt "none"/ });
  server.registerPrompt("twice", {}, () => "");
  assert.throws(() => server.registerPrompt("twice", {}, () => ""), { kind: "invalidArgument", message: /twice/ });
});

test("CMP-03: completions are declared together with their arguments", async (t) => {
  const server = new Server({ name: "trips", version: "1.0.0" });
  t.after(() => server.close());
  const names = (text) => [text.toUpperCase()];
  const cities = async (text, { arguments: { country } }, ctx) => [`${text}, ${country}, ${ctx.clientInfo.name}`];
  const plan = server.registerPrompt("plan", { arguments: [{ name: "city" }, { name: "country" }], complete: { city: cities, country: names } }, () => "plan");
  server.registerResource("note", "notes://{name}", { complete: { name: names } }, (uri) => uri);
  const client = await Client.connect(server, { info: { name: "tester", version: "1" } });
  t.after(() => client.close());
  const values = async (ref, name) => (await client.complete(ref, { name, value: "o" }, { arguments: { country: "n" } })).completion.values;
  const [prompt, template] = [{ type: "ref/prompt", name: "plan" }, { type: "ref/resource", uri: "notes://{name}" }];
  assert.deepEqual(await values(prompt, "city"), ["o, n, tester"]);
  assert.deepEqual(await values(prompt, "country"), ["O"]);
  assert.deepEqual(await values(template, "name"), ["O"]);
  plan.update({ name: "other", complete: { city: names } });
  assert.deepEqual(await values({ ...prompt, name: "other" }, "city"), ["O"]);
  assert.deepEqual(await values({ ...prompt, name: "other" }, "country"), []);
  assert.throws(() => plan.update({ complete: { cty: names } }), /there is no argument cty; the arguments are city, country/);
  assert.throws(() => server.registerResource("x", "x://{name}", { complete: { nam: names } }, (uri) => uri), /the arguments are name/);
  assert.throws(() => server.registerResource("x", "x://one", { complete: { name: names } }, (uri) => uri), /complete is only for templates/);
  assert.throws(() => server.registerPrompt("x", { arguments: [{ name: "a" }], complete: { a: "no function" } }, () => "x"), /must be a function/);
});

test("arguments that a schema library rejects are reported with the prompt's name", async () => {
  const server = new Server({ name: "plans", version: "1.0.0" });
  const argsSchema = z.object({ days: z.preprocess(Number, z.number()), mood: z.enum(["sunny", "grey"]).catch("sunny") });
  server.registerPrompt("lenient", { argsSchema }, (args) => JSON.stringify(args));
  server.registerPrompt("plan", { argsSchema: z.object({ days: z.coerce.number().max(7, "A week at most") }) }, () => "");
  const client = await Client.connect(server);
  await assert.rejects(client.getPrompt("plan", { days: "8" }), { kind: "protocol", code: -32602, message: /Invalid arguments for prompt "plan": \/days: A week at most/ });
  assert.equal((await client.getPrompt("lenient", { days: "8", mood: "blue" })).messages[0].content.text, '{"days":8,"mood":"sunny"}');
  await client.close();
  await server.close();
});

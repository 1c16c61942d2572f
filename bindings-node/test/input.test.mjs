// Client requests of handlers: one handler for every revision, real requests in the legacy era and
// rounds from 2026-07-28 on.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { Client, Server, ToolError } from "trunkline";
import { z } from "zod";

import { Peer, modern, revisions } from "../test-support/peer.mjs";

const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const accept = (content) => () => ({ action: "accept", content });
const answers = {
  "elicitation/create": ({ message }) => ({ action: "accept", content: message === "How old?" ? { age: 36 } : { name: "Ada" } }),
  "sampling/createMessage": () => ({ role: "assistant", model: "m1", content: { type: "text", text: "hello" } }),
  "roots/list": () => ({ roots: [{ uri: "file:///a" }, { uri: "file:///b" }] }),
};
const eliciting = revisions.filter((revision) => revision >= "2025-06-18");

async function withPeer(options, use) {
  const peer = await Peer.start("../test-programs/features.mjs", { capabilities: everything, answers, ...options });
  try {
    await use(peer);
  } finally {
    await peer.close();
  }
}

for (const revision of eliciting) {
  test(`ELI-32, ELI-11: a handler asks twice, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      const { first, second, runs } = JSON.parse(await peer.call("elicit"));
      assert.deepEqual([first, second], [{ action: "accept", content: { name: "Ada" } }, { action: "accept", content: { age: 36 } }]);
      assert.equal(runs, revision === modern ? 3 : 1);
      assert.deepEqual(peer.asked, ["elicitation/create", "elicitation/create"]);
      peer.answers = { "elicitation/create": () => ({ action: "decline" }) };
      assert.deepEqual(JSON.parse(await peer.call("elicit")).first, { action: "decline" });
      peer.answers = { "elicitation/create": () => ({ action: "cancel" }) };
      assert.deepEqual(JSON.parse(await peer.call("elicit")).second, { action: "cancel" });
    }));

  test(`MRTR-03: several questions at once, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      assert.equal(await peer.call("several"), "Ada hello file:///a,file:///b");
      assert.deepEqual([...peer.asked].sort(), ["elicitation/create", "roots/list", "sampling/createMessage"]);
    }));

  test(`whatever a handler does after its request is ignored and is not a failure, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      assert.equal(await peer.call("swallows"), "Ada");
      if (revision === modern) assert.equal((await peer.send("tools/call", { name: "forgets" })).result.resultType, "input_required");
      assert.equal(await peer.close(), "");
    }));

  test(`once keeps its first value, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      const kept = { at: "1970-01-01T00:00:00.000Z", runs: 1 };
      assert.deepEqual(JSON.parse(await peer.call("once")), { id: kept, same: kept, name: "Ada" });
    }));

  test(`MRTR-02: the primitive, with state, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      assert.deepEqual(JSON.parse(await peer.call("primitive")), { state: { step: 1 }, name: "Ada", model: "m1", roots: 2 });
    }));

  test(`ELI-04: asking a client without the capability is an error that says so, revision ${revision}`, () =>
    withPeer({ revision, capabilities: {} }, async (peer) => {
      const { error } = await peer.send("tools/call", { name: "elicit" });
      assert.match(error.message, /elicitation|capabilit/i);
      if (revision === modern) assert.deepEqual([error.code, error.data.requiredCapabilities], [-32021, { elicitation: { form: {} } }]);
      assert.deepEqual(peer.asked, []);
    }));

  test(`ELI-11: content that fails the form's own checks is the client's error, revision ${revision}`, () =>
    withPeer({ revision, answers: { "elicitation/create": ({ message }) => accept(message === "How old?" ? { age: 0 } : { name: "Ada" })() } }, async (peer) => {
      const { error } = await peer.request("tools/call", { name: "elicit" });
      assert.match(error.message, /Invalid response from the client.*age/);
    }));
}

for (const revision of ["2024-11-05", "2025-03-26"]) {
  test(`revision ${revision} has no elicitation, whatever the client declares`, () =>
    withPeer({ revision, ahead: true }, async (peer) => {
      const { error } = await peer.send("tools/call", { name: "elicit" });
      assert.match(error.message, new RegExp(revision));
    }));
}

for (const revision of revisions) {
  test(`ROOT-08, SMP-20: sampling and roots alone, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      assert.equal(await peer.call("roots"), "file:///a file:///b");
      assert.equal(await peer.call("sample"), "hello");
      assert.deepEqual(peer.asked, ["roots/list", "sampling/createMessage"]);
    }));
}

for (const revision of ["2025-11-25", modern]) {
  test(`ELI-28, ELI-33: a page, and its completion, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      peer.answers = { "elicitation/create": (params) => ({ action: params.url === "https://example.com/a%20b" && params.mode === "url" ? "accept" : "cancel" }) };
      assert.equal(await peer.call("url"), "accept");
      if (revision === modern) assert.deepEqual(peer.notifications, []);
      else assert.deepEqual(await peer.notified("notifications/elicitation/complete"), { elicitationId: "e1" });
    }));

  test(`MRTR-01: prompts can request input, too, revision ${revision}`, () =>
    withPeer({ revision }, async (peer) => {
      const { messages } = await peer.result("prompts/get", { name: "asking" });
      assert.equal(messages[0].content.text, "for Ada");
    }));
}

test("MRTR-10, MRTR-11, MRTR-12: custom keys, responses to other requests, and invalid responses", () =>
  withPeer({ revision: modern }, async (peer) => {
    const { requestState, inputRequests } = (await peer.send("prompts/get", { name: "asking" })).result;
    assert.deepEqual(Object.keys(inputRequests), ["who"]);
    const call = (inputResponses) => peer.send("prompts/get", { name: "asking", inputResponses, requestState });
    assert.deepEqual(Object.keys((await call({ other: { action: "accept", content: { name: "Ada" } } })).result.inputRequests), ["who"]);
    assert.deepEqual(Object.keys((await call({ who: { roots: [] } })).result.inputRequests), ["who"]);
    assert.equal((await call({ who: 1 })).error.code, -32602);
    assert.equal((await call({ who: accept({ name: "Eve" })(), more: {} })).result.messages[0].content.text, "for Eve");
  }));

test("MRTR-08: a repeated retry does not repeat a side effect", () =>
  withPeer({ revision: modern }, async (peer) => {
    const { requestState, inputRequests } = (await peer.send("tools/call", { name: "pays", arguments: {} })).result;
    const [key] = Object.keys(inputRequests);
    const inputResponses = { [key]: accept({ name: "Ada" })() };
    for (let round = 0; round < 3; round++) {
      const { result } = await peer.send("tools/call", { name: "pays", arguments: {}, inputResponses, requestState });
      assert.equal(result.content[0].text, "paid 1 times");
    }
  }));

test("MRTR-06: a modified state and one sealed with another key are refused; a shared key is accepted", async () => {
  const stateKeys = [randomBytes(32).toString("base64")];
  let sealed;
  const retry = (peer, requestState) => peer.send("tools/call", { name: "primitive", arguments: {}, inputResponses: {}, requestState });
  await withPeer({ revision: modern, args: [JSON.stringify({ stateKeys })] }, async (peer) => {
    sealed = (await peer.send("tools/call", { name: "primitive", arguments: {} })).result.requestState;
    const changed = sealed.replace(/^(.{20})(.)/, (_, before, one) => before + (one === "A" ? "B" : "A"));
    assert.equal((await retry(peer, changed)).error.code, -32602);
  });
  await withPeer({ revision: modern, args: [JSON.stringify({ stateKeys })] }, async (peer) => {
    assert.equal((await retry(peer, sealed)).result.resultType, "input_required");
  });
  await withPeer({ revision: modern }, async (peer) => assert.equal((await retry(peer, sealed)).error.code, -32602));
});

test("with rerunHandlers, handlers run again on every revision", () =>
  withPeer({ revision: "2025-11-25", args: [JSON.stringify({ rerunHandlers: true })] }, async (peer) => {
    assert.equal(JSON.parse(await peer.call("elicit")).runs, 3);
  }));

test("rounds have a limit", () =>
  withPeer({ revision: modern, args: [JSON.stringify({ maxRounds: 1 })] }, async (peer) => {
    assert.match((await peer.request("tools/call", { name: "elicit" })).error.message, /1 rounds/);
  }));

test("without a return channel, the request of a handler fails immediately", async () => {
  const server = new Server({ name: "test", version: "1.0.0" });
  let thrown;
  server.registerTool("ask", {}, async (_, ctx) => {
    thrown = await ctx.elicit("Who?", { type: "object", properties: {} }).catch((error) => error);
    throw new ToolError(thrown.message);
  });
  const listener = await server.listen({ port: 0, stateless: true });
  try {
    const client = await Client.connect(listener.url, { revision: "2025-11-25" });
    const { isError, content } = await client.callTool("ask");
    assert.deepEqual([isError, thrown.name, content[0].text], [true, "ProtocolError", thrown.message]);
    assert.match(thrown.message, /no return channel/);
    await client.close();
  } finally {
    await server.close();
  }
});

test("unsupported forms, and values without a JSON form, are errors that name them", async () => {
  const server = new Server({ name: "test", version: "1.0.0" });
  server.registerTool("forms", {}, async (_, ctx) => {
    const text = (error) => `${error.kind}: ${error.message}`;
    return [await ctx.elicit("?", "text").catch(text), await ctx.once("x", () => 1n).catch(text), await ctx.once("x", () => 1)];
  });
  const client = await Client.connect(server);
  const [form, once, kept] = JSON.parse((await client.callTool("forms")).content[0].text);
  assert.match(form, /^invalidArgument: the schema of an elicitation must be/);
  assert.match(once, /^invalidArgument: the value of once\("x"\)/);
  assert.equal(kept, 1);
  await client.close();
  await server.close();
});

test("ELI-08: fields of a schema library may be null or choices with references", async () => {
  const drink = z.enum(["tea", "coffee"]).meta({ id: "Drink" });
  const order = z.object({ drink: drink.nullish(), also: z.array(drink), note: z.string().nullish() });
  const server = new Server({ name: "test", version: "1.0.0" });
  server.registerTool("order", {}, async (_, ctx) => JSON.stringify(await ctx.elicit("What?", order)));
  for (const revision of ["2025-11-25", modern]) {
    let schema;
    const onElicit = ({ requestedSchema }) => {
      schema = requestedSchema;
      return { action: "accept", content: { also: ["coffee"] } };
    };
    const client = await Client.connect(server, { revision, onElicit });
    assert.equal((await client.callTool("order")).text, '{"action":"accept","content":{"also":["coffee"]}}');
    assert.deepEqual(schema.properties.drink, { type: "string", enum: ["tea", "coffee"] });
    assert.deepEqual([schema.properties.also.items.enum, schema.required], [["tea", "coffee"], ["also"]]);
    await client.close();
  }
  await server.close();
});

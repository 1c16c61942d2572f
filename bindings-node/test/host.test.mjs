// The host's side of clients: requests of servers, roots, subscriptions, on every revision.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Client, InputRequiredError, InvalidArgumentError, ProtocolError, Server } from "trunkline";

const eliciting = ["2025-06-18", "2025-11-25", "2026-07-28"];
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

/** A server whose tools need the client. */
function asking() {
  const server = new Server({ name: "asking", version: "1.0.0" });
  server.registerTool("greet", {}, async (_, ctx) => JSON.stringify(await ctx.elicit("Your name?", form)));
  server.registerTool("page", {}, async (_, ctx) => (await ctx.elicitUrl("Sign here", "https://example.com/sign")).action);
  server.registerTool("model", {}, async (_, ctx) => (await ctx.sample("What is this?", { maxTokens: 9, systemPrompt: "short" })).model);
  server.registerTool("where", {}, async (_, ctx) => (await ctx.listRoots()).map(({ uri }) => uri).join(" "));
  server.registerTool("speak", {}, (_, ctx) => {
    ctx.log("warning", { n: 1 }, "part");
    return "spoken";
  });
  server.registerResource("today", "note://today", {}, () => "rain");
  return server;
}

/** Connects to such a server, and closes both. */
async function withClient(options, use) {
  const server = asking();
  try {
    const client = await Client.connect(server, options);
    try {
      await use(client, server);
    } finally {
      await client.close();
    }
  } finally {
    await server.close();
  }
}

const text = async (call) => (await call).content[0].text;

for (const revision of eliciting) {
  test(`ELI-01, SMP-01: handlers answer requests of the server, revision ${revision}`, async () => {
    const seen = [];
    const handlers = {
      onElicit: async (request) => {
        seen.push([request.message, request.requestedSchema.required]);
        await sleep(1);
        return { action: "accept", content: { name: "Ann" } };
      },
      onSample: (request, { signal }) => {
        seen.push([request.systemPrompt, request.messages[0].role, signal.aborted]);
        return { role: "assistant", model: "m1", content: { type: "text", text: "a cloud" } };
      },
    };
    await withClient({ revision, ...handlers }, async (client) => {
      assert.deepEqual(JSON.parse(await text(client.callTool("greet"))), { action: "accept", content: { name: "Ann" } });
      assert.equal(await text(client.callTool("model")), "m1");
    });
    assert.deepEqual(seen, [
      ["Your name?", ["name"]],
      ["short", "user", false],
    ]);
  });

  test(`a handler that fails affects only its call, revision ${revision}`, async () => {
    let answer = () => {
      throw new ProtocolError("the user refused", { code: -1 });
    };
    await withClient({ revision, onElicit: () => answer() }, async (client) => {
      await assert.rejects(client.callTool("greet", {}, { raiseOnError: true }), /the user refused/);
      // Content that does not match the form is not sent.
      answer = () => ({ action: "accept", content: { nickname: 3 } });
      await assert.rejects(client.callTool("greet", {}, { raiseOnError: true }));
      answer = () => undefined;
      await assert.rejects(client.callTool("greet", {}, { raiseOnError: true }));
      assert.ok((await client.listTools()).length > 0);
    });
  });

  test(`ROOT-03: roots are an option that can be changed, revision ${revision}`, () =>
    withClient({ revision, roots: [{ uri: "file:///a" }] }, async (client) => {
      assert.equal(await text(client.callTool("where")), "file:///a");
      client.setRoots([{ uri: "file:///b" }, { uri: "file:///c" }]);
      assert.equal(await text(client.callTool("where")), "file:///b file:///c");
      assert.throws(() => client.setRoots([{ uri: "https://example.com/" }]), /file:\/\//);
    }));
}

for (const revision of ["2025-11-25", "2026-07-28"]) {
  test(`ELI-19: pages have their own handler, revision ${revision}`, () =>
    withClient({ revision, onElicitUrl: ({ url }) => ({ action: url.endsWith("/sign") ? "decline" : "accept" }) }, async (client) => {
      assert.equal(await text(client.callTool("page")), "decline");
      await assert.rejects(client.callTool("greet"), /did not declare elicitation by form/);
    }));

  test(`the signal of a handler is aborted with its call, revision ${revision}`, async () => {
    let begun;
    const started = new Promise((resolve) => (begun = resolve));
    const onElicit = async (_, { signal }) => {
      begun(signal);
      await once(signal, "abort");
      return { action: "cancel" };
    };
    await withClient({ revision, onElicit }, async (client) => {
      const controller = new AbortController();
      const call = client.callTool("greet", {}, { signal: controller.signal });
      const signal = await started;
      controller.abort();
      await assert.rejects(call, /caller.s signal/);
      // Nothing else keeps the event loop running here.
      for (let tries = 0; !signal.aborted && tries < 6_000; tries++) await sleep(10);
      assert.ok(signal.aborted);
      assert.ok((await client.listTools()).length > 0);
    });
  });

  test(`LOG-01: log messages have a handler, revision ${revision}`, async () => {
    const heard = [];
    await withClient({ revision, logLevel: "info", onLog: (message) => heard.push(message) }, async (client) => {
      await client.callTool("speak");
      for (let tries = 0; heard.length === 0 && tries < 3_000; tries++) await sleep(10);
    });
    assert.deepEqual(heard[0], { level: "warning", logger: "part", data: { n: 1 } });
  });
}

test("MRTR-15, MRTR-16: the caller supplies the input of the rounds itself", () =>
  // No handler is needed: the option declares what the caller can answer.
  withClient({ revision: "2026-07-28", capabilities: { elicitation: {} } }, async (client) => {
    const needed = await client.callTool("greet", {}, { manualInput: true }).catch((error) => error);
    assert.ok(needed instanceof InputRequiredError, String(needed));
    const [[key, { method, params }]] = Object.entries(needed.inputRequests);
    assert.deepEqual([method, params.message], ["elicitation/create", "Your name?"]);
    const inputResponses = { [key]: { action: "accept", content: { name: "Ann" } } };
    const { requestState } = needed;
    assert.match(await text(client.callTool("greet", {}, { inputResponses, requestState })), /Ann/);
  }));

test("a handler added after connecting", async () => {
  const onElicit = () => ({ action: "decline" });
  await withClient({ revision: "2026-07-28" }, async (client) => {
    client.setHandlers({ onElicit });
    assert.deepEqual(JSON.parse(await text(client.callTool("greet"))), { action: "decline" });
  });
  await withClient({ revision: "2025-11-25" }, (client) => {
    assert.throws(() => client.setHandlers({ onElicit }), /before connecting/);
  });
  await assert.rejects(Client.connect(asking(), { onElicit: "none" }), InvalidArgumentError);
  await assert.rejects(Client.connect(asking(), { roots: [{ uri: "/work" }] }), /file:\/\//);
});

for (const revision of ["2024-11-05", "2025-11-25", "2026-07-28"]) {
  test(`SUB-01: a subscription is a stream of changes, revision ${revision}`, () =>
    withClient({ revision }, async (client, server) => {
      const changes = await client.subscribe({ resources: ["note://today"], tools: true });
      assert.deepEqual(changes.honored.resources, ["note://today"]);
      server.resourceUpdated("note://today");
      assert.deepEqual((await changes.next()).value, { kind: "resource", uri: "note://today" });
      server.registerTool("late", {}, () => "late");
      for await (const change of changes) {
        assert.equal(change.kind, "tools");
        break;
      }
      // The loop has closed it.
      assert.equal((await changes.next()).done, true);
      await assert.rejects(client.subscribe({}), InvalidArgumentError);
    }));
}

test("closing a subscription ends a pending wait", () =>
  withClient({}, async (client) => {
    const changes = await client.subscribe({ tools: true });
    const next = changes.next();
    changes.close();
    assert.equal((await next).done, true);
  }));

test("requests and notifications without a dedicated method", () =>
  withClient({ revision: "2025-11-25" }, async (client) => {
    assert.ok((await client.request("tools/list")).tools.length > 0);
    client.notify("notifications/roots/list_changed");
    await assert.rejects(client.request("tools/call", { name: "nothing" }), ProtocolError);
  }));

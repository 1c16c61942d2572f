// Providers and middleware, in raw messages on every revision.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Server } from "trunkline";

import { Peer, modern, revisions } from "../test-support/peer.mjs";

for (const revision of revisions) {
  describe(`hooks on ${revision}`, () => {
    let peer;
    before(async () => (peer = await Peer.start("../test-programs/features.mjs", { revision })));
    after(() => peer.close());

    async function all(method, member) {
      const items = [];
      for (let cursor, pages = 0; pages < 20; pages++) {
        const page = await peer.result(method, cursor === undefined ? {} : { cursor });
        items.push(...page[member]);
        cursor = page.nextCursor;
        if (cursor === undefined) return items;
      }
      throw new Error("the list does not end");
    }

    test("PAG-05: a provider's pages follow the registered features, and it gets its own cursors back", async () => {
      const names = (await all("tools/list", "tools")).map(({ name }) => name);
      assert.deepEqual(names.slice(-3), ["row-a", "row-b", "row-c"]);
      assert.deepEqual((await all("prompts/list", "prompts")).map(({ name }) => name).slice(-2), ["asking", "row"]);
      assert.deepEqual((await all("resources/templates/list", "resourceTemplates")).map(({ name }) => name), ["note", "row"]);
      for (const cursor of ["", "tools~7~x", "nonsense"]) assert.equal((await peer.request("tools/list", { cursor })).error.code, -32602);
    });

    test("TOOL-05: a provider's tool can be called, and a tool that it does not have is unknown", async () => {
      assert.equal(await peer.call("row-b", { n: 1 }), 'row-b {"n":1} tools/call');
      const { error } = await peer.request("tools/call", { name: "row-x" });
      assert.equal(error.code, -32602);
    });

    test("middleware wraps every request, the first outermost, and may change params and results", async () => {
      const { _meta } = await peer.result("tools/list");
      assert.deepEqual(_meta["test/outer"], ["tools/list", false, "tools/list"]);
      const { content, _meta: outer } = await peer.result("tools/call", { name: "own" });
      assert.deepEqual([content[0].text, outer["test/outer"]], ["made by middleware", ["tools/call", true, "tools/call"]]);
      assert.equal(JSON.parse(await peer.call("renamed")).name, "facts");
    });

    test("middleware that refuses a request, and middleware that returns no result", async () => {
      const refused = await peer.request("tools/call", { name: "blocked" });
      assert.match(JSON.stringify(refused), /not for you/);
      const forgot = await peer.request("tools/call", { name: "nothing" });
      assert.equal(forgot.error?.code, -32603);
      // The log and the answer arrive through different pipes.
      for (const end = Date.now() + 60_000; !/must return a result/.test(peer.stderr); await sleep(10)) assert.ok(Date.now() < end, peer.stderr);
    });

    test("the handler's error passes through middleware unchanged", async () => {
      const { error } = await peer.request("resources/read", { uri: "notes://by-name/nothing" });
      assert.deepEqual(error, { code: -32602, message: "there is no such note", data: { uri: "notes://by-name/nothing" } });
    });

    test("LOG-02, LOG-04: the client gets the requested levels, on the call's own stream", async () => {
      const logged = async (params) => {
        peer.notifications.length = 0;
        await peer.result("tools/call", { name: "log", arguments: {}, ...params });
        return peer.notifications.map(({ method, params }) => (assert.equal(method, "notifications/message"), [params.level, params.data, params.logger]));
      };
      const grave = [["warning", "w", undefined], ["error", "e", undefined], ["emergency", ["x"], undefined]];
      if (revision === modern) {
        assert.deepEqual(await logged(), []);
        assert.deepEqual(await logged({ _meta: { "io.modelcontextprotocol/logLevel": "warning" } }), grave);
      } else {
        await peer.result("logging/setLevel", { level: "warning" });
        assert.deepEqual(await logged(), grave);
        await peer.result("logging/setLevel", { level: "debug" });
        assert.deepEqual(await logged(), [["debug", "d", undefined], ["info", { a: 1 }, "part"], ...grave]);
      }
    });

    test("messages that a handler sends after its result are dropped", async () => {
      peer.notifications.length = 0;
      assert.equal(await peer.call("ends"), "ended");
      assert.equal(await peer.call("ends"), "ended");
      assert.deepEqual(peer.notifications, []);
    });

    test("the members of a context", async () => {
      const facts = JSON.parse(await peer.call("facts"));
      assert.deepEqual(facts, { method: "tools/call", name: "facts", state: null, inputResponses: {}, auth: null, client: "peer" });
    });

    test("RES-03, RES-04, PRM-03: clients are notified of changes if they subscribed", async () => {
      const expected = ["notifications/resources/updated", "notifications/resources/list_changed", "notifications/prompts/list_changed", "notifications/tools/list_changed"];
      if (revision === modern) {
        const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ["notes://text"] };
        void peer.send("subscriptions/listen", { notifications });
        await peer.notified("notifications/subscriptions/acknowledged");
      } else await peer.result("resources/subscribe", { uri: "notes://text" });
      peer.notifications.length = 0;
      for (const [i, what] of ["updated", "provided", "prompts", "tools"].entries()) {
        await peer.call("changes", { what });
        const params = await peer.notified(expected[i]);
        if (what === "updated") assert.equal(params.uri, "notes://text");
      }
      peer.notifications.length = 0;
      await peer.call("changes", { what: "registrations" });
      await peer.notified("notifications/prompts/list_changed");
      await peer.notified("notifications/resources/list_changed");
      assert.deepEqual((await all("prompts/list", "prompts")).filter(({ name }) => name === "new"), []);
      if (revision === modern) return;
      await peer.result("resources/unsubscribe", { uri: "notes://text" });
      peer.notifications.length = 0;
      await peer.call("changes", { what: "updated" });
      await peer.result("ping");
      assert.deepEqual(peer.notifications.map(({ method }) => method), []);
    });
  });
}

test("invalid hooks are refused with a reason", () => {
  const server = new Server({ name: "test", version: "1.0.0" });
  assert.throws(() => server.use("tools/calls", () => ({})), { kind: "invalidArgument", message: /tools\/calls/ });
  assert.throws(() => server.use("initialize", () => ({})), { kind: "invalidArgument", message: /initialize/ });
  assert.throws(() => server.use("tools/call"), { kind: "invalidArgument", message: /handler of a middleware/ });
  assert.throws(() => server.registerProvider("tool", { list: () => [] }), { kind: "invalidArgument", message: /"tool" is not one of/ });
  assert.throws(() => server.registerProvider("tools", {}), { kind: "invalidArgument", message: /function list/ });
  assert.throws(() => server.registerCompletion({ type: "ref/tool", name: "x" }, "a", () => []), { kind: "invalidArgument", message: /ref/ });
  assert.throws(() => server.registerResource("x", "no uri", {}, () => ""), { kind: "invalidArgument", message: /no uri/ });
  assert.throws(() => server.registerResource("x", "a://{", {}, () => ""), { kind: "invalidArgument", message: /a:\/\/\{/ });
  assert.throws(() => new Server({ name: "test", version: "1.0.0" }, { stateKeys: ["short"] }), { kind: "invalidArgument", message: /32 bytes/ });
  assert.throws(() => new Server({ name: "test", version: "1.0.0" }, { extensions: { "a.b/c": 1 } }), { kind: "invalidArgument", message: /a\.b\/c/ });
});

test("clients see the options of the server", async () => {
  for (const revision of ["2025-11-25", modern]) {
    const options = { instructions: "Be kind", extensions: { "test.example/thing": { a: 1 } }, experimental: { odd: { b: 2 } } };
    const peer = await Peer.start("../test-programs/features.mjs", { revision, args: [JSON.stringify(options)] });
    try {
      const { capabilities, instructions } = revision === modern ? await peer.result("server/discover") : peer.server;
      assert.deepEqual([instructions, capabilities.experimental], ["Be kind", { odd: { b: 2 } }]);
      for (const feature of ["tools", "resources", "prompts", "completions", "logging"]) assert.ok(capabilities[feature], feature);
      if (revision === modern) assert.deepEqual(capabilities.extensions, { "test.example/thing": { a: 1 } });
    } finally {
      await peer.close();
    }
  }
});

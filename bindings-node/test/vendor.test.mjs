// Methods that no specification names: a client sends them as they are, and servers answer.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, Server } from "trunkline";

const opened = {
  initialize: (protocolVersion) => ({
    protocolVersion,
    capabilities: {},
    serverInfo: { name: "vendor", version: "1" },
  }),
  "server/discover": (version) => ({
    resultType: "complete",
    supportedVersions: [version],
    capabilities: {},
    ttlMs: 0,
    cacheScope: "private",
  }),
};

/** The transport to a server with a method of its own, which gives its params back. */
class Vendor {
  answers = [];
  wake = () => {};

  constructor(revision) {
    this.revision = revision;
  }

  connect() {}

  close() {
    this.wake();
  }

  send(message) {
    const { id, method, params } = JSON.parse(message);
    if (id === undefined) return;
    const answer = { jsonrpc: "2.0", id };
    if (method === "com.acme/echo") {
      delete params._meta;
      answer.result = { resultType: "complete", given: params };
    } else if (method in opened) answer.result = opened[method](this.revision);
    else answer.error = { code: -32601, message: `no ${method} here`, data: { known: ["com.acme/echo"] } };
    this.answers.push(JSON.stringify(answer));
    this.wake();
  }

  async receive() {
    if (this.answers.length === 0) await new Promise((resolve) => (this.wake = resolve));
    return this.answers.shift();
  }
}

for (const revision of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
  test(`EXT-10: a method of a vendor reaches its server, ${revision}`, async (t) => {
    const client = await Client.connect(new Vendor(revision), { revision });
    t.after(() => client.close());
    const params = { deep: [1, { b: null, a: "\u00e9" }], text: "x" };
    const { given } = await client.request("com.acme/echo", params);
    assert.deepEqual(given, params);
    assert.deepEqual(Object.keys(given.deep[1]), ["b", "a"]);
    await assert.rejects(client.request("com.acme/other"), { kind: "protocol", code: -32601, message: /no com\.acme\/other here/, data: { known: ["com.acme/echo"] } });
    assert.deepEqual((await client.request("com.acme/echo", {})).given, {}, "the connection goes on");
  });

  test(`EXT-03: a server refuses methods that it does not know, ${revision}`, async () => {
    const server = new Server({ name: "plain", version: "1" });
    const client = await Client.connect(server, { revision });
    await assert.rejects(client.request("com.acme/echo", { a: 1 }), { kind: "protocol", code: -32601 });
    await client.close();
    await server.close();
  });
}

test("a method of another revision is not sent", async () => {
  const server = new Server({ name: "plain", version: "1" });
  const client = await Client.connect(server, { revision: "2025-11-25" });
  await assert.rejects(client.request("server/discover"), { message: /server\/discover/ });
  await client.close();
  await server.close();
});

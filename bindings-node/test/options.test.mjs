// Options that this package reads itself: unknown names, and values of the wrong kind.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Client, Server } from "trunkline";

const info = { name: "test", version: "1.0.0" };
const server = new Server(info);
server.registerTool("x", {}, () => "");
const client = await Client.connect(server);
after(() => server.close());

const refused = (message) => ({ name: "InvalidArgumentError", kind: "invalidArgument", message });
const meant = (name, known) => refused(`unknown option \`${name}\`: did you mean \`${known}\`?`);

test("a misspelt hook is refused and does not leave a feature visible to everyone", async () => {
  const hidden = { visibel: () => false };
  assert.throws(() => new Server(info, { onerror: () => {} }), meant("onerror", "onError"));
  assert.throws(() => new Server(info, { lifespn: () => ({}) }), meant("lifespn", "lifespan"));
  assert.throws(() => server.registerTool("y", hidden, () => ""), meant("visibel", "visible"));
  assert.throws(() => server.registerPrompt("y", hidden, () => ""), meant("visibel", "visible"));
  assert.throws(() => server.registerResource("y", "a://y", hidden, () => ""), meant("visibel", "visible"));
  assert.throws(() => server.registerPrompt("y", { completes: { city: () => [] } }, () => ""), /completes\.city: a function cannot be represented in JSON/);
  const auth = { resource: "https://a.example/mcp", issuer: "https://login.example", verifer: () => ({}) };
  assert.throws(() => server.handler({ auth }), meant("verifer", "verifier"));
  await assert.rejects(server.listen({ port: 0, auth }), meant("verifer", "verifier"));
  await assert.rejects(Client.connect(server, { onElict: () => ({ action: "cancel" }) }), meant("onElict", "onElicit"));
  await assert.rejects(Client.connect(server, { onElicitation() {} }), meant("onElicitation", "onElicit"));
  await assert.rejects(Client.connect(server, { onSampling() {} }), refused(/^unknown option `onSampling`: valid options are .*`onSample`/));
  assert.throws(() => client.setHandlers({ onElict: () => ({ action: "cancel" }) }), meant("onElict", "onElicit"));
  assert.throws(() => client.setHandlers({ ask: () => ({ action: "cancel" }) }), /^InvalidArgumentError: unknown option `ask`: valid options are `onElicit`, /);
  assert.deepEqual((await client.listTools()).map(({ name }) => name), ["x"]);
});

test("a function in place of data is refused with its path", () => {
  assert.throws(() => new Server(info, { pageSize: () => 3 }), refused(/ \$\.options\.pageSize: a function cannot be represented in JSON: give data$/));
  assert.throws(() => server.registerTool("y", { annotations: { title: () => "" } }, () => ""), refused(/ \$\.tool\.annotations\.title: a function cannot be represented in JSON: give data$/));
});

test("a misspelt option is refused", async () => {
  const skill = { "SKILL.md": "---\nname: x\ndescription: X.\n---\n" };
  assert.throws(() => server.registerSkill(skill, { rot: "skill://x" }), meant("rot", "root"));
  assert.throws(() => server.registerDirectory("d://x", ".", { hiden: true }), meant("hiden", "hidden"));
  assert.throws(() => server.registerRequestHandler("com.acme/sum", { paramSchema: {} }, () => ({})), meant("paramSchema", "paramsSchema"));
  assert.throws(() => server.registerProvider("tools", { list: () => [], gett: () => "" }), meant("gett", "get"));
  assert.throws(() => server.proxy(client, { prefx: "a" }), meant("prefx", "prefix"));
  await assert.rejects(client.callTool("x", {}, { timout: 3 }), meant("timout", "timeout"));
  await assert.rejects(client.listTools({ abort: true }), /unknown option `abort`: valid options are `signal`, `timeout`/);
  await assert.rejects(client.close(3), refused("options must be an object, not 3"));
  await assert.rejects(client.startTask("x", {}, { tll: 3 }), /unknown option `tll`/);
  await assert.rejects(client.close({ deadlin: 3 }), meant("deadlin", "deadline"));
  await assert.rejects(server.close({ deadlin: 3 }), meant("deadlin", "deadline"));
  await assert.rejects(server.listen(8000), refused("options must be an object, not 8000"));
  const listener = await server.listen({ port: 0 });
  await assert.rejects(listener.close({ deadlin: 3 }), meant("deadlin", "deadline"));
  await listener.close({ deadline: undefined });
  assert.equal((await client.callTool("x", {}, { timeout: undefined, timout: undefined })).text, "");
});

test("errors suggest every option, also those that the core does not know", async () => {
  const handlers = ["onElicit", "onElicitUrl", "onSample", "onSampleWithTools", "onAuthorize", "onOpenUrl", "onAccessToken", "onLog", "onToolsChanged", "onTaskStatus", "onNotification"];
  const connecting = ["auth", "signal", "raiseExceptions", "headers", "clientCertificate", "clientKey", "proxy", "inheritEnv", "stderr", "stderrFile", "timeout", "revision"];
  const cases = [
    [["instructions", "lifespan", "onError", "pageSize"], async (options) => new Server(info, options)],
    [["auth", "port", "allowedHosts"], (options) => server.listen(options)],
    [["auth", "allowedHosts"], async (options) => server.handler(options)],
    [[...connecting, ...handlers], (options) => Client.connect(server, options)],
  ];
  for (const [names, take] of cases) {
    for (const name of names) {
      const wrong = name.slice(0, -2) + name.slice(-1);
      await assert.rejects(take({ [wrong]: 1 }), name.length > 4 ? meant(wrong, name) : refused(new RegExp(`^unknown option \`${wrong}\`: (did you mean |valid options are .*)\`${name}\``)), name);
    }
    await assert.rejects(take({ xyzzy: 1 }), refused(new RegExp(names.map((name) => `(?=.*\`${name}\`)`).join(""))));
  }
});

test("the constructor of another SDK is refused with the right call", async () => {
  assert.throws(() => new Client({ name: "host", version: "1" }), refused("new Client(…) does not connect: use await Client.connect(…)"));
  assert.throws(() => new Server("weather"), refused(/name and a version: new Server\({ name: /));
  const deep = JSON.parse("[".repeat(200) + "]".repeat(200));
  await assert.rejects(client.callTool("x", { deep }), refused(/nests deeper than 128 levels/));
});

test("a provider of a class may have members of its own", () => {
  class Rows {
    cache = new Map();
    list = () => [];
  }
  server.registerProvider("resources", new Rows()).remove();
});

test("a value of the wrong kind is refused", async () => {
  for (const name of ["onError", "lifespan"]) assert.throws(() => new Server(info, { [name]: 3 }), refused(`${name} must be a function, not number`));
  assert.throws(() => new Server(info, { stateKeys: "abc" }), refused(/^stateKeys: /));
  assert.throws(() => new Server(info, { stateKeys: [3] }), refused(/^stateKeys/));
  assert.throws(() => server.registerProvider("tools", { list: () => [], get: 3 }), refused("the get of a provider must be a function, not number"));
  await assert.rejects(client.callTool("x", {}, { onProgress: 3 }), refused("onProgress must be a function, not number"));
  await assert.rejects(client.callTool("x", {}, { signal: 3 }), refused("signal must be an AbortSignal, not 3"));
  await assert.rejects(Client.connect(server, { signal: {} }), refused("signal must be an AbortSignal, not {}"));
  await assert.rejects(Client.connect(server, { onNotification: "x" }), refused("onNotification must be a function, not string"));
});

// A server with tools that may be tasks, skills and an app, for tests that speak to it in raw
// messages.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { InputRequired, ProtocolError, Server, ToolError, elicit } from "trunkline";

const options = { taskPollInterval: 50, extensions: { "io.modelcontextprotocol/ui": {} } };
const server = new Server({ name: "extensions", version: "1.0.0" }, options);
const name = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

// Tasks
server.registerTool("slow", { task: "optional" }, async (_, ctx) => {
  ctx.setTaskMessage("half of it is done");
  await sleep(100, undefined, { signal: ctx.signal });
  return "done";
});
let aborted = 0;
server.registerTool("endless", { task: "required" }, (_, ctx) => {
  ctx.setTaskMessage("it has begun");
  return sleep(60_000, undefined, { signal: ctx.signal }).finally(() => aborted++);
});
server.registerTool("aborted", { task: "forbidden" }, () => aborted);
server.registerTool("fails", { task: "optional" }, () => {
  throw new ToolError("it failed");
});
server.registerTool("breaks", { task: "optional" }, () => {
  throw new ProtocolError("it broke", { code: -32000, data: { a: 1 } });
});
server.registerTool("asks", { task: "optional" }, async (_, ctx) => `Hello, ${(await ctx.elicit("Who?", name, { key: "who" })).content?.name}`);
server.registerTool("deferred", { task: "optional", deferTask: true, inputSchema: { type: "object", properties: { long: { type: "boolean" } } } }, async ({ long }, ctx) => {
  if (!ctx.inputResponses.who) return new InputRequired({ who: elicit("Who?", name) });
  if (long) {
    ctx.startTask();
    ctx.startTask();
    await sleep(20);
  }
  return `Hello, ${ctx.inputResponses.who.content.name}`;
});

// Skills
const manifest = (name) => `---\nname: ${name}\ndescription: Does ${name}.\nmetadata:\n  team: a\n---\n# ${name}\n`;
server.registerSkill({ "SKILL.md": manifest("given"), "data/bytes.bin": new Uint8Array([0, 255]) }, { root: "skill://team/given", ttl: 5000, cacheScope: "public" });
const folder = new URL(process.argv[2], import.meta.url);
let fromFolder = server.registerSkill(folder);
server.registerTool("forget", {}, () => {
  fromFolder.remove();
  fromFolder.remove();
  return "forgotten";
});
server.registerTool("again", {}, () => {
  fromFolder = server.registerSkill(fileURLToPath(folder));
  return "there";
});
server.registerTool("wrong", {}, () => {
  const given = [{}, { "SKILL.md": "no frontmatter" }, { "SKILL.md": manifest("x"), "../y": "" }, { "SKILL.md": 1 }, new URL("https://a.example/skill"), "/no/such/folder"];
  return [...given.map((files) => [files]), [{ "SKILL.md": manifest("x") }, { root: "skill://y" }]].map((args) => {
    try {
      server.registerSkill(...args).remove();
      return "accepted";
    } catch (error) {
      return `${error.kind}: ${error.message}`;
    }
  });
});

// An app
server.registerTool("chart", { ui: "ui://chart/view", _meta: { a: 1, ui: { visibility: ["model"] } } }, () => "a chart in words");
server.registerResource("chart", "ui://chart/view", { mimeType: "text/html;profile=mcp-app" }, () => ({
  text: "<!doctype html><title>Chart</title>",
  _meta: { ui: { csp: { connectDomains: [] } } },
}));

await server.serveStdio();

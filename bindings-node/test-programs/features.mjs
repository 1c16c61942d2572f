// A server with one of everything, for tests that speak to it in raw messages.
import { InputRequired, ProtocolError, Server, ToolError, assistant, elicit, image, resource, listRoots, sample, text, user } from "trunkline";
import { z } from "zod";

const options = JSON.parse(process.argv[2] ?? "{}");
const server = new Server({ name: "features", version: "1.0.0" }, { pageSize: 3, ttl: 1000, cacheScope: "public", ...options });
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const name = object({ name: { type: "string" } });

// Resources
server.registerResource("text", "notes://text", { description: "A text", mimeType: "text/markdown", size: 5, annotations: { priority: 1 }, ttl: 5000, cacheScope: "public" }, () => "# Hi");
server.registerResource("bytes", "notes://bytes", { mimeType: "application/octet-stream" }, () => new Uint8Array([1, 2, 3]));
server.registerResource("json", "notes://json", {}, (uri, ctx) => ({ uri, method: ctx.method, name: ctx.name }));
server.registerResource("folder", "notes://folder", {}, () => [
  { uri: "notes://folder/a", text: "a" },
  { uri: "notes://folder/b", blob: Buffer.from("b"), mimeType: "text/plain" },
]);
server.registerResource("note", "notes://by-name/{name}{?lang}", { mimeType: "text/plain", description: "A note" }, (uri, variables) => {
  if (variables.name === "gone") return undefined;
  if (variables.name === "nothing") throw new ProtocolError("there is no such note", { code: -32602, data: { uri } });
  return `${uri} ${JSON.stringify(variables)}`;
});
server.registerResource("whole", "notes://whole", {}, () => ({ contents: [{ uri: "notes://elsewhere", text: "whole" }], _meta: { a: 1 } }));
server.registerResource("broken", "notes://broken", {}, () => {
  throw new Error("secret detail");
});
server.registerCompletion({ type: "ref/resource", uri: "notes://by-name/{name}{?lang}" }, "name", (value, known) => ({ values: ["one", "two"].filter((word) => word.startsWith(value)), total: Object.keys(known.arguments).length }));

// Prompts
server.registerPrompt("plain", { description: "A text", title: "Plain", _meta: { a: 1 } }, () => "hello");
server.registerPrompt("greet", { arguments: [{ name: "name", description: "Whom", required: true }, { name: "style" }] }, ({ name, style = "plain" }) => `hello ${name}, ${style}`);
server.registerPrompt("typed", { argsSchema: z.object({ days: z.coerce.number().max(7).describe("How many"), city: z.string().default("Oslo").meta({ title: "City" }) }) }, ({ days, city }) => [
  user(`${days + 1} in ${city}`),
  assistant(image("aGk=", "image/png")),
  resource("notes://text", "# Hi"),
]);
server.registerPrompt("whole", {}, () => ({ description: "Made now", messages: [user("hi")] }));
server.registerPrompt("asking", {}, async (_, ctx) => `for ${(await ctx.elicit("Who?", name, { key: "who" })).content?.name}`);
server.registerCompletion({ type: "ref/prompt", name: "greet" }, "style", (value) => ["formal", "friendly"].filter((word) => word.startsWith(value)));
server.registerCompletion({ type: "ref/prompt", name: "greet" }, "name", () => Array.from({ length: 150 }, (_, i) => `n${i}`));

// Tools that talk to their client
let runs = 0;
server.registerTool("elicit", {}, async (_, ctx) => {
  runs++;
  const first = await ctx.elicit("Who are you?", name);
  const second = await ctx.elicit("How old?", z.object({ age: z.coerce.number().min(1) }), { key: "age" });
  return { first, second, runs };
});
server.registerTool("several", {}, async (_, ctx) => {
  const [{ content }, answer, list] = await Promise.all([ctx.elicit("Who?", name), ctx.sample("Greet", { maxTokens: 10, systemPrompt: "Be kind" }), ctx.listRoots()]);
  return `${content.name} ${answer.content.text} ${list.map(({ uri }) => uri)}`;
});
server.registerTool("roots", {}, async (_, ctx) => (await ctx.listRoots()).map(({ uri }) => uri).join(" "));
server.registerTool("sample", {}, async (_, ctx) => (await ctx.sample([user("Hi")], { maxTokens: 5 })).content.text);
server.registerTool("swallows", {}, async (_, ctx) => {
  try {
    const { content } = await ctx.elicit("Who?", name);
    return content.name;
  } catch {
    return "swallowed";
  }
});
server.registerTool("forgets", {}, (_, ctx) => {
  void ctx.elicit("Who?", name);
  return "did not wait";
});
let paid = 0;
server.registerTool("pays", {}, async (_, ctx) => {
  await ctx.elicit("Sure?", { type: "object", properties: { name: { type: "string" } } });
  return `paid ${await ctx.once("payment", () => ++paid)} times`;
});
server.registerTool("once", {}, async (_, ctx) => {
  const [id, same] = await Promise.all([ctx.once("id", () => ({ at: new Date(0), runs: ++runs })), ctx.once("id", () => ++runs)]);
  const { content } = await ctx.elicit("Who?", name);
  return { id, same, name: content.name };
});
server.registerTool("primitive", {}, (_, ctx) => {
  const { who, model, where } = ctx.inputResponses;
  if (who && model && where) return { state: ctx.state, name: who.content.name, model: model.model, roots: where.roots.length };
  return new InputRequired({ who: elicit("Who?", name), model: sample(user("Hi"), { maxTokens: 5 }), where: listRoots() }, { step: 1 });
});
server.registerTool("url", {}, async (_, ctx) => {
  const { action } = await ctx.elicitUrl("Please visit", new URL("https://example.com/a b"), { elicitationId: "e1" });
  server.elicitationComplete("e1");
  return action;
});
server.registerTool("log", {}, (_, ctx) => {
  ctx.debug("d");
  ctx.info({ a: 1 }, "part");
  ctx.warning("w");
  ctx.error("e");
  ctx.log("emergency", ["x"]);
  ctx.closeStream();
  return "logged";
});
server.registerTool("facts", {}, (_, ctx) => ({ method: ctx.method, name: ctx.name, state: ctx.state ?? null, inputResponses: ctx.inputResponses, auth: ctx.auth ?? null, client: ctx.clientInfo?.name }));
server.registerTool("ends", {}, async (_, ctx) => {
  setTimeout(() => {
    ctx.info("too late");
    ctx.closeStream();
    void ctx.progress(1);
  }, 10);
  return "ended";
});

// Providers
const rows = ["a", "b", "c"];
server.registerProvider("tools", {
  list: (cursor) => ({ items: [{ name: `row-${rows[Number(cursor ?? 0)]}`, inputSchema: { type: "object" } }], ...(Number(cursor ?? 0) < 2 ? { nextCursor: String(Number(cursor ?? 0) + 1) } : {}) }),
  get: ({ name, arguments: args = {} }, ctx) => (/^row-[abc]$/.test(name) ? text(`${name} ${JSON.stringify(args)} ${ctx.method}`) : undefined),
});
server.registerProvider("resources", {
  list: () => rows.map((row) => ({ uri: `rows://${row}`, name: row })),
  get: ({ uri }) => (uri.startsWith("rows://") ? Buffer.from(uri) : null),
});
server.registerProvider("resourceTemplates", { list: () => [{ uriTemplate: "rows://{row}", name: "row" }] });
server.registerProvider("prompts", {
  list: () => ({ items: [{ name: "row" }] }),
  get: ({ name, arguments: args }) => (name === "row" ? [user("row"), JSON.stringify(args)] : null),
});

// Middleware
server.use(async ({ method, params }, next, ctx) => {
  const result = await next();
  return { ...result, _meta: { ...result._meta, "test/outer": [method, Object.keys(params).includes("name"), ctx.method] } };
});
server.use("tools/call", async ({ params }, next) => {
  if (params.name === "blocked") throw new ToolError("not for you");
  if (params.name === "own") return { content: [text("made by middleware")] };
  return next(params.name === "renamed" ? { ...params, name: "facts" } : undefined);
});
server.registerTool("blocked", {}, () => "never");
server.registerTool("renamed", {}, () => "never");
server.registerTool("nothing", {}, () => "never");
server.use(["tools/call"], ({ params }, next) => (params.name === "nothing" ? undefined : next()));

// Changes
server.registerTool("changes", { inputSchema: object({ what: { type: "string" } }) }, ({ what }) => {
  if (what === "updated") server.resourceUpdated("notes://text");
  else if (what === "provided") server.listChanged("resourceTemplates");
  else if (what === "prompts") server.listChanged("prompts");
  else if (what === "tools") server.listChanged("tools");
  else {
    const added = [server.registerPrompt("new", {}, () => ""), server.registerResource("new", "notes://new", {}, () => "")];
    for (const registration of [...added, ...added]) registration.remove();
  }
  return "done";
});

await server.serveStdio();

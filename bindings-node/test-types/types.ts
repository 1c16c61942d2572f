// Compiled, never run: what users may and may not write.
import { createServer } from "node:http";

import { type } from "arktype";
import express from "express";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { Client, InputRequired, ProtocolError, Server, TransportError, TrunklineError, elicit, listRoots, sample, text, user } from "trunkline";
import type { CallToolResult, ConnectOptions, Context, ErrorKind, Identity, ListResourcesResult, Registration, Root, Tool, ToolResult } from "trunkline";
import * as v from "valibot";
import { z } from "zod";

/* eslint @typescript-eslint/no-unnecessary-type-parameters: off, @typescript-eslint/no-redundant-type-constituents: off -- the test of equal types needs both */
/* eslint @typescript-eslint/no-unused-vars: ["error", { args: "none" }] */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<T extends true>(): T | undefined {
  return undefined;
}

const server = new Server({ name: "types", version: "1.0.0" }, { instructions: "", maxRunning: 1 });

server.registerTool("zod", { inputSchema: z.object({ city: z.string(), days: z.number().default(3) }) }, (args, context) => {
  holds<Same<typeof args, { city: string; days: number }>>();
  holds<Same<typeof context, Context>>();
  return args.city;
});

server.registerTool("arktype", { inputSchema: type({ city: "string", "days?": "number" }) }, async (args) => {
  holds<Same<typeof args.city, string>>();
  return Promise.resolve([args.days]);
});

server.registerTool("valibot", { inputSchema: v.object({ city: v.string() }) }, ({ city }) => {
  holds<Same<typeof city, string>>();
  return text(city);
});

const tool = server.registerTool("json", { inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } }, ({ city }) => {
  holds<Same<0 extends 1 & typeof city ? true : false, true>>();
  return { city: String(city) };
});
tool.remove();

server.registerTool("ping", {}, async (_, context) => {
  const answered: Promise<void> = context.ping({ timeout: 1000, signal: context.signal });
  await answered;
});

server.registerTool("none", {}, () => undefined);

server.registerTool("long", { task: "optional", deferTask: true, scopes: ["jobs"], ui: "ui://jobs/view" }, (_, context) => {
  context.setTaskMessage("it begins");
  context.startTask();
});
server.registerTool("render", { task: "required", restartTask: true }, () => "done");
interface Place {
  city: string;
  days?: number;
}
declare const place: Place;
declare const uri: string;
declare const maybe: string | undefined;
server.registerTool("maybe", { description: maybe, title: maybe }, () => undefined);
server.registerResource("any", uri, { mimeType: maybe }, (_, { id }) => String(id));
async function called(client: Client): Promise<string> {
  const result = await client.callTool("forecast", place, { signal: undefined, timeout: undefined });
  try {
    return result.text;
  } catch (error) {
    if (error instanceof TrunklineError && error.kind === "protocol") holds<Same<typeof error.code, number>>();
    if (error instanceof TrunklineError && error.kind === "transport") holds<Same<typeof error, TransportError>>();
    throw error;
  }
}
export { called };
declare const handlers: Pick<ConnectOptions, "onElicit" | "onSample" | "onLog" | "onToolsChanged">;
export const optional: Promise<Client> = Client.connect(server, { ...handlers, onElicit: undefined, onLog: undefined, onToolsChanged: undefined, onRequestHeaders: undefined, auth: maybe });
declare const plan: { city: string; days?: string };
interface Sum {
  numbers: number[];
}
declare const sum: Sum;
interface Trip {
  city: string;
}
declare const trip: Trip;
export async function asked(client: Client): Promise<void> {
  await client.getPrompt("plan", plan);
  await client.getPrompt("plan", trip);
  await client.getPrompt("plan");
  // @ts-expect-error arguments of prompts are strings
  await client.getPrompt("plan", sum);
  await client.request("com.acme/sum", sum);
  client.notify("notifications/com.acme/sum", sum);
}

// @ts-expect-error it may, must or cannot be a task
server.registerTool("long", { task: true }, () => undefined);
const skill: Registration = server.registerSkill({ "SKILL.md": "---\nname: x\ndescription: X.\n---\n", data: new Uint8Array() }, { root: "skill://team/x", ttl: 1000, cacheScope: "public" });
skill.remove();
server.registerSkill(new URL("file:///skills/x"));
// @ts-expect-error a file is text or bytes
server.registerSkill({ "SKILL.md": 1 });

server.registerTool("output", { outputSchema: z.object({ n: z.number(), unit: z.string().default("m") }) }, () => ({ n: 1 }));
server.registerTool("output in full", { outputSchema: z.object({ n: z.number() }) }, () => ({ content: [text("1")], structuredContent: { n: 1 } }));

server.registerResource("static", "notes://all", { mimeType: "text/plain", ttl: 1000, cacheScope: "public" }, (uri, context) => {
  holds<Same<typeof context, Context>>();
  return uri;
});
server.registerResource("template", "notes://{name}/{+path}{?lang,first*}", {}, (uri, variables, context) => {
  holds<Same<typeof variables, { name: string; path: string; lang?: string; first?: string }>>();
  return { blob: new Uint8Array(), uri: `${uri}${context.name}` };
});
// @ts-expect-error there is no such variable
server.registerResource("wrong variable", "notes://{name}", {}, (_, { nam }) => nam as string);
const added: Registration = server.registerPrompt("typed", { argsSchema: z.object({ days: z.coerce.number() }) }, ({ days }) => {
  holds<Same<typeof days, number>>();
  return user(days.toFixed());
});
added.remove();
server.registerPrompt("plain", { arguments: [{ name: "city", required: true }] }, ({ city }) => city);
server.registerCompletion({ type: "ref/prompt", name: "plain" }, "city", (value, known) => [value, ...Object.keys(known.arguments)]);
server.registerTool("asks", {}, async (_, context) => {
  const given = await context.elicit("Who?", z.object({ age: z.coerce.number() }), { key: "who" });
  if (given.action === "accept") holds<Same<typeof given.content, { age: number }>>();
  const list: Root[] = await context.listRoots();
  const answer = await context.sample([user("Hi")], { maxTokens: 10 });
  const identity: Identity | undefined = context.auth;
  const kept: number = await context.once("id", () => 1);
  context.log("notice", { list, answer, identity }, "part");
  return kept > 1 ? text(answer.model) : new InputRequired({ who: elicit("Who?", { type: "object" }), model: sample("Hi", { maxTokens: 1 }), where: listRoots() }, { step: 1 });
});
server.registerProvider("resources", { list: (cursor) => ({ items: [{ uri: "rows://1", name: "1" }], nextCursor: `${cursor ?? ""}x` }), get: ({ uri }) => uri });
// @ts-expect-error a tool needs an input schema
server.registerProvider("tools", { list: () => [{ name: "x" }] });
server.use(async ({ method, params }, next) => ({ ...(await next(params)), method }));
server.use(["tools/call"], (_, next) => next());
// @ts-expect-error there is no such list
server.listChanged("tasks");
// @ts-expect-error how many tokens the model may use must be said
sample("Hi", {});

// @ts-expect-error the output does not fit its schema
server.registerTool("wrong output", { outputSchema: z.object({ n: z.number() }) }, () => ({ n: "1" }));
// @ts-expect-error a name is needed
new Server({ version: "1.0.0" });
// @ts-expect-error a schema is an object
server.registerTool("wrong schema", { inputSchema: "string" }, () => 1);

createServer(server.handler());
express()
  .use("/mcp", server.handler({ allowedHosts: ["mcp.example"] }))
  .use(server.handler({ path: "/mcp" }));
new Hono()
  .all("/mcp/*", mount(server.fetch))
  .all("/other", (c) => server.fetchHandler({ stateless: true })(c.req.raw));
export default { fetch: server.fetch };
// @ts-expect-error the framework listens
server.handler({ port: 8000 });

export async function client(): Promise<void> {
  await using client = await Client.connect("http://localhost:8000/mcp", { revision: "2025-06-18", headers: { a: "b" }, signal: AbortSignal.timeout(1) });
  await Client.connect(["node", "server.mjs"]);
  await Client.connect({ command: "node", args: ["server.mjs"], env: { A: "b" }, cwd: "." });
  await Client.connect(["node", "server.mjs"], { env: { ...process.env, A: "b" } });
  await Client.connect(server);
  // @ts-expect-error not a revision
  await Client.connect(server, { revision: "2025-01-01" });
  const tools: Tool[] = await client.listTools();
  const result: CallToolResult & ToolResult = await client.callTool("zod", { city: tools[0]?.name }, { onProgress: ({ progress }) => progress.toFixed() });
  const sums = await client.callTool("add", {}, { result: z.object({ z: z.number() }), raiseOnError: true });
  holds<Same<typeof sums.structuredContent.z, number>>();
  sums.structuredContent.z.toFixed();
  const [block] = result.content;
  if (block?.type === "text") holds<Same<typeof block.text, string>>();
  const page: ListResourcesResult = await client.listResourcesPage("cursor", { timeout: 1 });
  holds<Same<typeof page.nextCursor, string | undefined>>();
  const [contents] = (await client.readResource("a://b", { meta: { a: 1 } })).contents;
  holds<Same<NonNullable<typeof contents>["blob"], string | undefined>>();
  await client.getPrompt("plan", { city: "Oslo" });
  // @ts-expect-error arguments of prompts are strings
  await client.getPrompt("plan", { days: 1 });
  const { completion } = await client.complete({ type: "ref/prompt", name: "plan" }, { name: "city", value: "O" }, { arguments: {} });
  holds<Same<typeof completion.values, string[]>>();
  // @ts-expect-error no such reference
  await client.complete({ type: "ref/tool", name: "plan" }, { name: "city", value: "O" });
  console.log(page, contents, completion);
  await Client.connect(server, { onToolsChanged: () => undefined });
  client.on("toolsChanged", () => undefined);
  client.on("notification", ({ method }) => method.length);
  client.on("close", (error) => {
    if (error instanceof TrunklineError) holds<Same<typeof error.kind, ErrorKind>>();
    if (error instanceof ProtocolError) holds<Same<typeof error.code, number>>();
  });
  // @ts-expect-error no such event
  client.on("changed", () => undefined);
}

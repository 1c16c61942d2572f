// The server of the scars in Node.js: server.mjs stdio | http | listen | express | hono
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Server, ToolError } from "trunkline";

// The timeout of idle peers, if not the default.
const idleTimeoutMs = Number(process.env.SILENCE_MS ?? 60_000);
const stateKey = process.env.STATE_KEY;
// Callbacks throw, and so does the verifier for tokens other than "good".
const throws = "THROWS" in process.env;
const thrower = (name) => () => {
  throw new Error(`thrown by ${name}`);
};
const options = { store: process.env.STORE, stateKeys: stateKey ? [stateKey] : [], keepAlive: Math.min(idleTimeoutMs / 4, 15_000) };
const server = new Server({ name: "scars", version: "1.0.0" }, { lifespan: () => undefined, ...options, ...(throws && { onError: thrower("a hook") }) });
if (throws) server.use("tools/call", (request, next) => (request.params.name === "touch" ? thrower("middleware")() : next()));
const verifier = ({ token }) => (token === "good" ? { subject: "good" } : thrower("the verifier")());
const auth = { resource: "http://127.0.0.1/mcp", authorizationServers: ["https://login.example.com"], verifier };
const number = (name) => ({ inputSchema: { type: "object", properties: { [name]: { type: "integer" } }, required: [name] } });

server.registerTool(
  "echo",
  { inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
  ({ message }) => message,
);
const slow = async ({ ms }, ctx) => {
  await ctx.progress(0);
  await sleep(ms);
  return "done";
};
server.registerTool("slow", { ...number("ms"), task: "optional" }, slow);
server.registerTool("again", { ...number("ms"), task: "optional", restartTask: true }, slow);
server.registerTool("block", number("ms"), ({ ms }) => {
  const end = Date.now() + ms;
  while (Date.now() < end);
  return "done";
});
server.registerTool("stray", {}, () => {
  console.log("a stray print");
  writeSync(1, "bytes to descriptor 1\n");
  spawnSync("echo", ["a line of a child"], { stdio: "inherit" });
  return "printed";
});
server.registerTool("fail", {}, () => {
  throw new Error("x".repeat(2000));
});
// The status with which the tool `end` exits, and what lets the process end.
const exitStatus = 7;
let returns = () => undefined;
server.registerTool("end", { inputSchema: { type: "object", properties: { how: { type: "string" } } } }, ({ how }) => {
  if (how === "handler") process.exit(exitStatus);
  if (how === "main") returns();
  else setTimeout(() => process.exit(exitStatus), 100);
  return "ends";
});

// Messages of a flood before a pause, so that it leaves some processor time to others. A steady
// flood has no pauses.
const burst = 50;

server.registerTool("flood", number("count"), async ({ count, log, steady }, ctx) => {
  for (let progress = 0; progress < count && !ctx.signal.aborted; progress++) {
    await (log ? ctx.info("a message") : ctx.progress(progress));
    if (progress % burst === 0 && !steady) await sleep(1);
  }
  return "done";
});

server.registerResource("mood", "scars://mood/{number}", {}, (_, { number }) => number);
server.registerTool("touch", { inputSchema: { type: "object", properties: { number: { type: "string" } }, required: ["number"] } }, ({ number }) => {
  server.resourceUpdated(`scars://mood/${number}`);
  return "touched";
});

server.registerTool("plan", {}, async (_, ctx) => {
  const { content } = await ctx.elicit("How many go?", { type: "object", properties: { people: { type: "integer" } }, required: ["people"] });
  const city = await ctx.sample("Where to?", { maxTokens: 50 });
  return `${content.people} go to ${city.content.text}`;
});
const half = "half of a character: \ud83d";
server.registerTool("halves", { inputSchema: { type: "object", properties: { place: { type: "string" } } } }, async ({ place }, ctx) => {
  if (place === "error") throw new Error(half);
  if (place === "toolError") throw new ToolError(half);
  if (place === "progress") await ctx.progress(1, undefined, half);
  if (place === "log") await ctx.info(half);
  if (place === "question") await ctx.elicit(half, { type: "object", properties: { people: { type: "integer" } } });
  return half;
});
const patterns = { around: { pattern: String.raw`(?=.*\d)[a-z]+\d` }, back: { pattern: String.raw`(?=(a+))\1b` } };
server.registerTool("match", { inputSchema: { type: "object", properties: patterns } }, () => "matched");
server.registerPrompt("packing", { arguments: [{ name: "city", required: true }], complete: { city: (text) => ["Oslo", "Osaka", "Rome"].filter((city) => city.startsWith(text)) } }, ({ city }) => `What to pack for ${city}?`);

async function serveMounted(way) {
  let web;
  if (way === "express") {
    const { default: express } = await import("express");
    web = express().use("/mcp", server.handler()).listen(0, "127.0.0.1");
  } else {
    const [{ serve }, { Hono }] = await Promise.all([import("@hono/node-server"), import("hono")]);
    web = serve({ fetch: new Hono().all("/mcp", (context) => server.fetch(context.req.raw)).fetch, port: 0, hostname: "127.0.0.1" });
  }
  if (!web.listening) await once(web, "listening");
  console.log(`http://127.0.0.1:${web.address().port}/mcp`);
  await server.closeOnSignal(web);
}

const way = process.argv[2];
if (way === "stdio") await server.serveStdio();
else if (way === "http") {
  const listener = await server.listen({ port: Number(process.env.PORT ?? 0), idleTimeout: idleTimeoutMs, writeTimeout: idleTimeoutMs, ...(throws && { auth }) });
  console.log(listener.url);
  await listener.run();
} else if (way === "listen") {
  // The listener keeps the process running.
  const listener = await server.listen({ port: 0 });
  returns = () => listener.unref();
  console.log(listener.url);
} else await serveMounted(way);

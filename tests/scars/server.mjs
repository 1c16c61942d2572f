// The server of the scars in Node.js: server.mjs stdio | http | express | hono
import { once } from "node:events";
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "trunkline";

const server = new Server({ name: "scars", version: "1.0.0" }, { store: process.env.STORE });
const number = (name) => ({ inputSchema: { type: "object", properties: { [name]: { type: "integer" } }, required: [name] } });

server.registerTool(
  "echo",
  { inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
  ({ message }) => message,
);
server.registerTool("slow", { ...number("ms"), task: "optional" }, async ({ ms }, ctx) => {
  await ctx.progress(0);
  await sleep(ms);
  return "done";
});
server.registerTool("block", number("ms"), ({ ms }) => {
  const end = Date.now() + ms;
  while (Date.now() < end);
  return "done";
});
server.registerTool("stray", {}, () => {
  console.log("a stray print");
  writeSync(1, "bytes to descriptor 1\n");
  return "printed";
});
server.registerTool("flood", number("count"), async ({ count }, ctx) => {
  for (let progress = 0; progress < count; progress++) await ctx.progress(progress);
  return "done";
});

server.registerResource("mood", "scars://mood/{number}", {}, (_, { number }) => number);
server.registerTool("touch", { inputSchema: { type: "object", properties: { number: { type: "string" } }, required: ["number"] } }, ({ number }) => {
  server.resourceUpdated(`scars://mood/${number}`);
  return "touched";
});

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
  await server.closeOnSignal();
  web.close();
}

const way = process.argv[2];
if (way === "stdio") await server.serveStdio();
else if (way === "http") {
  const listener = await server.listen({ port: Number(process.env.PORT ?? 0) });
  console.log(listener.url);
  await listener.run();
} else await serveMounted(way);

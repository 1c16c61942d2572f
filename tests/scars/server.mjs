// The server of the scars in Node.js: server.mjs stdio | http
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "trunkline";

const server = new Server({ name: "scars", version: "1.0.0" });
const number = (name) => ({ inputSchema: { type: "object", properties: { [name]: { type: "integer" } }, required: [name] } });

server.registerTool(
  "echo",
  { inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
  ({ message }) => message,
);
server.registerTool("slow", number("ms"), async ({ ms }) => {
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

if (process.argv[2] === "stdio") await server.serveStdio();
else {
  const listener = await server.listen({ port: 0 });
  console.log(listener.url);
  await listener.run();
}

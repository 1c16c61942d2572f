// A server that counts how often its event loop has read standard input.

import { Server } from "trunkline";

import { countReads } from "./reads.mjs";

const reads = countReads();
const server = new Server({ name: "reading", version: "1.0.0" });
const message = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
server.registerTool("echo", { inputSchema: message }, ({ message }) => message);
server.registerTool("reads", {}, () => String(reads.count));
server.registerTool("block", {}, () => {
  for (const end = Date.now() + 1500; Date.now() < end; );
  return "blocked";
});
server.registerTool("hang", {}, () => new Promise(() => {}));
server.registerTool("die", {}, () => {
  console.error("out of beans");
  process.exit(3);
});
await server.serveStdio();

// A server with one tool, over stdio.
import { Server } from "trunkline";

const server = new Server({ name: "hello", version: "1.0.0" });

server.registerTool(
  "hello",
  {
    description: "Greets someone.",
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
  ({ name }) => `Hello, ${name}!`,
);

await server.serveStdio();

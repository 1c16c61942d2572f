// A server with one tool, over stdio.
import { Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "hello", version: "1.0.0" });

server.registerTool(
  "hello",
  { description: "Greets someone.", inputSchema: z.object({ name: z.string() }) },
  ({ name }) => `Hello, ${name}!`,
);

await server.serveStdio();

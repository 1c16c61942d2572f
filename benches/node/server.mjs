// Bench server: server.mjs stdio | http PORT [json] [stateless] [--tools N] [--store URL]
import { Server } from "trunkline";

const words = process.argv.slice(2);
const extra = words.includes("--tools") ? Number(words[words.indexOf("--tools") + 1]) : 0;
const store = words.includes("--store") ? words[words.indexOf("--store") + 1] : undefined;
const numbers = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };

const server = new Server({ name: "bench", version: "0.0.0" }, store === undefined ? {} : { store });
server.registerTool(
  "echo",
  { description: "Echo the message back", inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
  async ({ message }) => message,
);
const sum = async ({ a, b }) => String(a + b);
server.registerTool("add", { description: "Add two integers", inputSchema: numbers }, sum);
for (let i = 0; i < extra; i++) {
  server.registerTool(`tool_${String(i).padStart(3, "0")}`, { description: `Generated tool number ${i}`, inputSchema: numbers }, sum);
}

if (words[0] === "http") await server.listen({ port: Number(words[1]), json: words.includes("json"), stateless: words.includes("stateless") });
else if (words[0] === "stdio") await server.serveStdio();
else {
  console.error("usage: server stdio | http PORT [json] [stateless] [--tools N] [--store URL]");
  process.exit(2);
}

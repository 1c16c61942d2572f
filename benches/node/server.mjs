// Bench server: server.mjs stdio | http PORT [json] [stateless] [features] [--tools N]
// [--store URL] [--auth FILE]
import { readFileSync } from "node:fs";

import { Server } from "trunkline";

const words = process.argv.slice(2);
const extra = words.includes("--tools") ? Number(words[words.indexOf("--tools") + 1]) : 0;
const store = words.includes("--store") ? words[words.indexOf("--store") + 1] : undefined;
const numbers = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };

// Messages of `grow-bytes` are longer than the default allows.
const options = { maxMessageBytes: 128 * 1024 * 1024, ...(store === undefined ? {} : { store }) };
const server = new Server({ name: "bench", version: "0.0.0" }, options);
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

const message = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
const answer = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const members = Array.from({ length: 100 }, (_, i) => `f${String(i).padStart(2, "0")}`);
const wide = { type: "object", properties: Object.fromEntries(members.map((member) => [member, { type: "integer" }])), required: members };
if (words.includes("features")) {
  server.registerTool("report", { description: "Report progress, then echo the message back", inputSchema: message }, async ({ message }, ctx) => {
    for (let number = 1; number <= 20; number++) await ctx.progress(number, 20);
    return message;
  });
  server.registerTool("ask", { description: "Ask the user", inputSchema: message }, async ({ message }, ctx) => {
    const { action, content } = await ctx.elicit(message, answer);
    return action === "accept" ? content.value : "no answer";
  });
  server.registerTool("wide", { description: "Add 100 integers", inputSchema: wide }, async (numbers) =>
    String(Object.values(numbers).reduce((sum, number) => sum + number, 0)),
  );
}

// The access tokens from a file (tests/matrix/authorization.json).
const auth = words.includes("--auth") ? JSON.parse(readFileSync(words[words.indexOf("--auth") + 1], "utf8")).auth : undefined;
if (words[0] === "http") await server.listen({ port: Number(words[1]), json: words.includes("json"), stateless: words.includes("stateless"), auth });
else if (words[0] === "stdio") await server.serveStdio();
else {
  console.error("usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]");
  process.exit(2);
}

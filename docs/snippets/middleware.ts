// Middleware around each tool call: it counts calls and refuses some.
import { Client, ProtocolError, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "greeter", version: "1.0.0" });

const Call = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) });

server.use("tools/call", async (request, next, ctx) => {
  const call = Call.parse(request.params);
  if (call.arguments["name"] === "Mallory") throw new ProtocolError("Mallory may not call.", { code: 403 });
  ctx.vars.set("title", "Countess");
  const result = await next();
  console.log(`${call.name} was called`);
  return result;
});

server.registerTool(
  "greet",
  { description: "Greet someone.", inputSchema: z.object({ name: z.string() }) },
  ({ name }, ctx) => `Hello, ${ctx.vars.get("title")} ${name}!`,
);

await using client = await Client.connect(server);
console.log((await client.callTool("greet", { name: "Ada" })).text);
try {
  await client.callTool("greet", { name: "Mallory" });
} catch (error) {
  if (error instanceof ProtocolError) console.log(error.code);
}

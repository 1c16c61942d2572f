// Errors: for the model, for the log, protocol errors, and timeouts.
import { Client, ProtocolError, Server, TimeoutError, ToolError } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "shop", version: "1.0.0" });

server.registerTool(
  "price",
  { description: "The price of an article.", inputSchema: z.object({ article: z.string() }) },
  ({ article }) => {
    if (article === "sun") throw new ToolError("The sun is not for sale.");
    throw new Error(`no row for ${article} in prices.db`);
  },
);
server.registerTool("wait", { description: "Never ends." }, () => new Promise(() => {}));

await using client = await Client.connect(server);
for (const article of ["sun", "moon"]) console.log((await client.callTool("price", { article })).text);
try {
  await client.callTool("prize");
} catch (error) {
  if (error instanceof ProtocolError) console.log(error.kind, error.code);
}
try {
  await client.callTool("wait", {}, { timeout: 50 });
} catch (error) {
  if (error instanceof TimeoutError) console.log(error.kind);
}

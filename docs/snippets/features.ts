// A server that changes its features at run time, for everyone or per caller.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "shop", version: "1.0.0" });
const inputSchema = z.object({ article: z.string() });

const price = server.registerTool(
  "price",
  { description: "The price of an article.", inputSchema, timeout: 2000 },
  ({ article }) => `${article}: 5`,
);
server.registerTool(
  "discount",
  {
    description: "Lower a price.",
    inputSchema,
    visible: ({ clientInfo }) => clientInfo?.name === "staff", // with access tokens: auth
  },
  ({ article }) => `${article} is cheaper now`,
);

async function showTools(name: string) {
  await using client = await Client.connect(server, { info: { name, version: "1.0.0" } });
  const tools = await client.listTools();
  console.log(`${name}:`, tools.map(({ name }) => name).join(" "));
}

await showTools("staff");
await showTools("guest");
price.update({ description: "The price of an article, in euros." });
price.disable();
await showTools("staff");
price.enable();

// Changes what a server offers while it runs: for everyone, and for each caller.
import { Client, Server } from "trunkline";

const server = new Server({ name: "shop", version: "1.0.0" });
const article = { type: "object", properties: { article: { type: "string" } }, required: ["article"] };
const isStaff = ({ clientInfo }) => clientInfo?.name === "staff"; // with access tokens: auth

const price = server.registerTool("price", { description: "The price of an article", inputSchema: article, timeout: 2000 }, ({ article }) => `${article}: 5`);
server.registerTool("discount", { description: "Lowers a price", inputSchema: article, visible: isStaff }, ({ article }) => `${article} is cheaper now`);
// Never "../secret": such a URI is not found.
server.registerResource("manual", "manuals://{name}", {}, (uri, { name }) => `The manual of ${name}`);

async function tools(name) {
  const client = await Client.connect(server, { info: { name, version: "1.0.0" } });
  const names = (await client.listTools()).map(({ name }) => name);
  await client.close();
  return names;
}

console.log(await tools("staff"), await tools("guest"));
price.update({ description: "The price of an article, in euros" });
price.disable();
console.log(await tools("staff"));
price.enable();
await server.close();

// A server over HTTP that reads a request header in each call, and its client.
import { Client, Server } from "trunkline";

const server = new Server({ name: "tenants", version: "1.0.0" });

server.registerTool("tenant", { description: "Name the tenant of the caller." }, (_, ctx) => {
  return `${ctx.headers["x-tenant"] ?? "nobody"} at ${ctx.url}`;
});

const { url } = await server.listen({ port: 0, path: "/notes" });
const client = await Client.connect(url, { headers: { "X-Tenant": "acme" } });
console.log((await client.callTool("tenant")).text);
console.log(client.revision);
await client.close();
await server.close();

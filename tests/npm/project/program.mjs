// The program that is bundled: a server, and a client that calls it over HTTP.
import { Client, Server } from "trunkline";

async function main() {
  const server = new Server({ name: "bundled", version: "1.0.0" });
  server.registerTool("hello", { description: "Greets." }, () => "Hello from a bundle");
  const listener = await server.listen({ port: 0 });
  const client = await Client.connect(listener.url);
  console.log((await client.callTool("hello")).content[0].text);
  await client.close();
  await server.close();
}

void main();

// Lifts an old server to the newest revision, and calls it there. By default that beside it.
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const beside = [process.execPath, fileURLToPath(new URL("hello_server.mjs", import.meta.url))];

const old = await Client.connect(process.argv[2] ?? beside, { revision: "legacy" });
const gateway = new Server({ name: "gateway", version: "1.0.0" });
gateway.proxy(old);
const listener = await gateway.listen({ port: 0 });

// Any client of the gateway.
const client = await Client.connect(listener.url, { revision: "2026-07-28" });
try {
  for (const { name } of await client.listTools()) console.log(`${client.revision}: ${name}`);
  const result = await client.callTool("hello", { name: "Ada" });
  console.log(result.content[0].text);
} finally {
  await client.close();
  await gateway.close();
  await old.close();
}

// A client for an entry of a configuration file: it starts the server and negotiates a revision.
import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

const entry = {
  command: process.execPath,
  args: [fileURLToPath(new URL("tutorial_server.js", import.meta.url))],
};

await using client = await Client.connect(entry, { timeout: 10_000 });
console.log(client.serverInfo?.name, client.serverInfo?.version);
console.log(client.revision);
console.log(Object.keys(client.capabilities).sort().join(", "));
console.log(client.instructions);

// Starts the server next to it and calls its tool.
import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

const server = fileURLToPath(new URL("hello_server.js", import.meta.url));
await using client = await Client.connect([process.execPath, server]);
const result = await client.callTool("hello", { name: "Ada" });
console.log(result.text);

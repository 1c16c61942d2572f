// Calls the server next to it, or one at a URL: node client.mjs [http://127.0.0.1:8000/mcp]
import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

const url = process.argv[2];
const client = await Client.connect(url ?? [process.execPath, fileURLToPath(new URL("server.mjs", import.meta.url))]);
try {
  console.log(`connected to ${client.serverInfo?.name}, revision ${client.revision}`);
  for (const tool of await client.listTools()) console.log(`tool ${tool.name}: ${tool.description}`);
  const result = await client.callTool(
    "forecast",
    { city: "Oslo", days: 2 },
    { timeout: 10_000, onProgress: ({ progress, total }) => console.log(`progress ${progress} of ${total}`) },
  );
  for (const block of result.content) if (block.type === "text") console.log(block.text);
} finally {
  await client.close();
}

// Lists the tools of many servers: node group_client.mjs [mcp.json]. By default those beside it.
import { fileURLToPath } from "node:url";

import { ClientGroup } from "trunkline";

const beside = (file) => [process.execPath, fileURLToPath(new URL(file, import.meta.url))];
const servers = { weather: beside("server.mjs"), hello: beside("hello_server.mjs"), broken: ["no-such-program"] };

const group = await ClientGroup.connect(process.argv[2] ?? servers);
try {
  for (const { name, state, error } of await group.servers()) console.log(`${name}: ${error?.message ?? state}`);
  for (const { name, description } of await group.listTools()) console.log(`tool ${name}: ${description}`);
} finally {
  await group.close();
}

// Many servers behind one client. One of them fails to start; the others work.
import { fileURLToPath } from "node:url";

import { ClientGroup } from "trunkline";

const servers = {
  notes: [process.execPath, fileURLToPath(new URL("tutorial_server.js", import.meta.url))],
  broken: ["no-such-program"],
};

await using group = await ClientGroup.connect(servers); // or the path of an mcp.json
for (const { name, error } of await group.servers()) console.log(`${name}:`, error ? "failed" : "connected");
for (const { name } of await group.listTools()) console.log(name);
console.log((await group.callTool("notes__add_note", { name: "groceries", text: "milk" })).text);

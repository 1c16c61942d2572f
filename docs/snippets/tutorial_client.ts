// Starts the server next to it and uses it. Given a URL, it connects there instead.
import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

const server = [process.execPath, fileURLToPath(new URL("tutorial_server.js", import.meta.url))];
const url = process.argv.find((argument) => argument.startsWith("http"));

await using client = await Client.connect(url ?? server);
const tools = await client.listTools();
console.log("tools:", tools.map(({ name }) => name).join(", "));
for (const text of ["milk and bread", "bread"]) {
  const result = await client.callTool("add_note", { name: "groceries", text });
  console.log(result.isError ? "error:" : "result:", result.text);
}
const { contents: [all] } = await client.readResource("notes://all");
if (all && "text" in all) console.log(all.text);

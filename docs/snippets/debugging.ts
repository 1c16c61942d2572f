// Information about a connection, and why one failed.
import { Client, Server } from "trunkline";

// Sends error details, which may be secret, to clients: not for production.
const server = new Server({ name: "backup", version: "1.0.0" }, { debug: true });

server.registerTool("backup", { description: "Back up all files." }, () => {
  throw new Error("disk full");
});

await using client = await Client.connect(server);
console.log(client.revision, client.serverInfo?.name);
const result = await client.callTool("backup");
console.log(result.isError ? "error:" : "result:", result.text.includes("disk full") && "disk full");

// A gateway that exposes an older server under the newest revision, next to its own tool.
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const program = [process.execPath, fileURLToPath(new URL("tutorial_server.js", import.meta.url))];

const gateway = new Server({ name: "gateway", version: "1.0.0" });
const extra = new Server({ name: "extra", version: "1.0.0" });
extra.registerTool("hello", { description: "Greet." }, () => "Hello");

await using old = await Client.connect(program, { revision: "legacy" });
gateway.proxy(old);
gateway.mount("extra", extra);

await using client = await Client.connect(gateway, { revision: "2026-07-28" }); // over HTTP: gateway.listen()
console.log((await client.listTools()).map(({ name }) => name).join(" "));
const { text } = await client.callTool("add_note", { name: "groceries", text: "milk" });
console.log(`${old.revision} as ${client.revision}: ${text}`);

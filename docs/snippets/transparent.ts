// A bridge that clients see as the server behind it, which starts with their first request.
import { fileURLToPath } from "node:url";

import { Client, Server } from "trunkline";

const program = [process.execPath, fileURLToPath(new URL("tutorial_server.js", import.meta.url))];

const bridge = new Server({ name: "bridge", version: "1.0.0" });

await using notes = await Client.connect(program, { lazy: true });
bridge.proxy(notes, { transparent: true });

await using client = await Client.connect(bridge); // over HTTP: bridge.listen()
const tools = (await client.listTools()).map(({ name }) => name).join(" ");
console.log(`${client.serverInfo?.name}: ${tools}`);

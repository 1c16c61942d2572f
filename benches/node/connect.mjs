// Connects to many servers at once in Node: connect.mjs N -- COMMAND...
import { once } from "node:events";
import { createInterface } from "node:readline";

import { ClientGroup } from "trunkline";

const [n, separator, ...command] = process.argv.slice(2);
if (separator !== "--" || command.length === 0) {
  console.error("usage: connect N -- COMMAND...");
  process.exit(2);
}

const stdin = createInterface({ input: process.stdin });
const ended = once(stdin, "close");
console.log("READY");
await once(stdin, "line");
const servers = Object.fromEntries(Array.from({ length: Number(n) }, (_, i) => [`server${i}`, command]));
const group = await ClientGroup.connect(servers, { revision: "2025-11-25" });
const tools = await group.listTools();
if (tools.length !== 2 * Number(n)) throw new Error(`${tools.length} tools`);
console.log("DONE");
await ended;
await group.close();

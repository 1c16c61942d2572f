// A client whose event loop reads when the thread or the process ends.
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";

import { Client } from "trunkline";

import { countReads } from "./reads.mjs";

const reads = countReads();
const client = await Client.connect([process.execPath, fileURLToPath(new URL("reading-server.mjs", import.meta.url))]);
while (reads.count < 20) await client.callTool("echo", { message: "x" });
const how = workerData?.how ?? process.argv[2];
for (let i = 0; i < 20; i++) client.callTool("hang").catch(() => {});
parentPort?.postMessage("reads");
if (how === "exit") process.exit(0);
if (how === "throw") throw new Error("on purpose");
if (how === "close") await client.close();

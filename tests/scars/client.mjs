// The client of the scars in Node.js: client.mjs URL | COMMAND... (README.md)
import { createInterface } from "node:readline";
import { Client } from "trunkline";

const words = process.argv.slice(2);
// Callbacks throw.
const throws = "THROWS" in process.env;
const thrower = () => {
  throw new Error("thrown by a callback");
};

async function connected() {
  const options = { timeout: Number(process.env.TIMEOUT_MS ?? 60_000), revision: process.env.REVISION ?? "auto" };
  const careless = throws && { logLevel: "info", onLog: thrower, onNotification: thrower };
  const client = await Client.connect(words.length === 1 ? words[0] : words, { ...options, ...careless });
  console.log("ready");
  return client;
}

let client = await connected();
for await (const line of createInterface({ input: process.stdin })) {
  const [word, number, ms, tool = "slow"] = line.split(" ");
  if (word === "call") {
    client.callTool(tool, { ms: Number(ms) }, throws ? { onProgress: thrower } : {}).then(
      () => console.log(`${number} ok`),
      (error) => console.log(`${number} ${error.kind}`),
    );
  } else if (word === "list") console.log(`${(await client.listTools()).length} tools`);
  else if (word === "reconnect") client = await connected();
  else {
    if (word === "close") await client.close();
    process.exit(0);
  }
}

// The client of the scars in Node.js: client.mjs URL | COMMAND... (README.md)
import { createInterface } from "node:readline";
import { Client } from "trunkline";

const words = process.argv.slice(2);

async function connected() {
  const options = { timeout: Number(process.env.TIMEOUT_MS ?? 60_000), revision: process.env.REVISION ?? "auto" };
  const client = await Client.connect(words.length === 1 ? words[0] : words, options);
  console.log("ready");
  return client;
}

let client = await connected();
for await (const line of createInterface({ input: process.stdin })) {
  const [word, number, ms] = line.split(" ");
  if (word === "call") {
    client.callTool("slow", { ms: Number(ms) }).then(
      () => console.log(`${number} ok`),
      (error) => console.log(`${number} ${error.kind}`),
    );
  } else if (word === "reconnect") client = await connected();
  else {
    if (word === "close") await client.close();
    process.exit(0);
  }
}

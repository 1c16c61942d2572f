// The bench client in Node: client.mjs N INFLIGHT -- COMMAND... | client.mjs N INFLIGHT URL
// With INFLIGHT `resource`, it reads a resource N times.
import { once } from "node:events";
import { createInterface } from "node:readline";

import { Client } from "trunkline";

const [n, inFlight, place, ...command] = process.argv.slice(2);
if (!place || (place === "--") !== command.length > 0) {
  console.error("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL");
  process.exit(2);
}

const client = await Client.connect(place === "--" ? command : place, { revision: "2025-11-25" });

async function call(i) {
  const message = `m${i}`;
  const { content } = await client.callTool("echo", { message });
  if (content[0].text !== message) throw new Error("wrong text");
}

// Characters of base64 in the resource.
const BLOB_LENGTH = 16 * 1024 * 1024;

async function read() {
  for (let i = 0; i < Number(n); i++) {
    const { contents } = await client.readResource("bench:blob");
    if (contents[0].blob.length !== BLOB_LENGTH) throw new Error("wrong contents");
  }
}

const reads = inFlight === "resource";
for (let i = 0; i < (reads ? 0 : 200); i++) await call(i);
const stdin = createInterface({ input: process.stdin });
const ended = once(stdin, "close");
console.log("READY");
await once(stdin, "line");
let next = 0;
if (reads) {
  await read();
} else {
  await Promise.all(
    Array.from({ length: Number(inFlight) }, async () => {
      while (next < Number(n)) await call(next++);
    }),
  );
}
console.log("DONE");
await ended;
await client.close();

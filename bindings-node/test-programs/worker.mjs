import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

import { Client, Server } from "trunkline";

const server = new Server({ name: "worker", version: "1.0.0" });
server.registerTool("whoami", {}, () => "worker");
server.registerTool("wait", {}, (_, ctx) => {
  parentPort.postMessage("waiting");
  return sleep(60_000, undefined, { signal: ctx.signal });
});

async function ask(target) {
  const client = await Client.connect(target);
  try {
    return (await client.callTool("whoami")).content[0].text;
  } finally {
    await client.close();
  }
}

if (workerData.mode === "serve") {
  const { url } = await server.listen({ port: 0 });
  parentPort.postMessage(url);
} else {
  parentPort.postMessage([await ask(workerData.url), await ask(server)]);
}

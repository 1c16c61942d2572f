// A cluster whose workers share a port: client_cluster.mjs prints the seconds of the slowest call,
// including after one of the workers is killed.
import assert from "node:assert/strict";
import cluster from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import { Client, Server } from "trunkline";

const server = new Server({ name: "cluster", version: "1" });
server.registerTool("pid", {}, () => String(process.pid));

if (cluster.isPrimary) {
  // The primary has its own clients and server.
  const own = await Client.connect(server);
  const workers = [cluster.fork(), cluster.fork()];
  const [[{ port }]] = await Promise.all(workers.map((worker) => once(worker, "listening")));
  let slowest = 0;

  /** The processes that answer consecutive clients. */
  const answering = async () => {
    const pids = new Set();
    for (let number = 0; number < 8; number++) {
      const start = performance.now();
      const client = await Client.connect(`http://127.0.0.1:${port}/mcp`);
      pids.add((await client.callTool("pid")).text);
      await client.close();
      slowest = Math.max(slowest, performance.now() - start);
    }
    assert.equal((await own.callTool("pid")).text, String(process.pid));
    return pids;
  };

  assert.deepEqual(await answering(), new Set(workers.map((worker) => String(worker.process.pid))));
  const [killed, other] = workers;
  killed.process.kill("SIGKILL");
  await once(killed, "exit");
  assert.deepEqual(await answering(), new Set([String(other.process.pid)]));
  other.disconnect();
  await once(other, "exit");
  await own.close();
  console.log(slowest / 1000);
} else {
  createServer(server.handler({ path: "/mcp" })).listen(0, "127.0.0.1");
}

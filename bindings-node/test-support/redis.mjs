import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "./free-port.mjs";
import { withProcess } from "./process.mjs";

const startTimeoutMs = 30_000;

/** Kinds of stores that processes can share. `cargo xtask test` installs Redis on Linux. */
export const sharedStores = ["sqlite", ...(process.platform === "linux" ? ["redis"] : [])];

/** Runs with the URL of a server of Redis of the test's own. */
export async function withRedis(use) {
  const port = await freePort();
  const args = ["--bind", "127.0.0.1", "--port", String(port), "--save", "", "--appendonly", "no"];
  await withProcess("redis-server", args, async (child) => {
    child.stdout.resume();
    for (const end = Date.now() + startTimeoutMs; ; await sleep(20)) {
      const socket = connect({ host: "127.0.0.1", port });
      try {
        await once(socket, "connect");
        break;
      } catch (error) {
        if (Date.now() > end) throw error;
      } finally {
        socket.destroy();
      }
    }
    await use(`redis://127.0.0.1:${port}`);
  });
}

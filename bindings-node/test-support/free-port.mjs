import { once } from "node:events";
import { createServer } from "node:net";

/** A port that nobody else gets: connections have local ports above these. */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer();
    try {
      await once(probe.listen(port, "127.0.0.1"), "listening");
    } catch {
      continue; // taken
    }
    probe.close();
    await once(probe, "close");
    return port;
  }
}

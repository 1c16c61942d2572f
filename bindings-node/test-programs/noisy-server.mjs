// A server over stdio that prints where it should not.
import { setInterval, setTimeout } from "node:timers";

import { Server } from "trunkline";

console.log("before serving");
const server = new Server({ name: "noisy", version: "1.0.0" });
server.registerTool("noise", {}, () => {
  console.log("while serving");
  process.stdout.write("{}\n");
  return process.env.NOISE ?? "quiet";
});
server.registerTool("die", {}, () => {
  console.error("out of beans");
  process.exit(3);
});
await server.serveStdio();
// A server that does not exit by itself.
if (process.env.STAYS) setInterval(() => undefined, 1000);
// A server that takes its time.
if (process.env.LEAVES_AFTER) {
  setTimeout(() => {
    console.error("left by itself");
  }, Number(process.env.LEAVES_AFTER));
}

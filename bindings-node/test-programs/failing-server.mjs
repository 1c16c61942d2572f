// A server over stdio whose handlers fail, or never end.
import { setInterval } from "node:timers";

import { Server } from "trunkline";

const server = new Server({ name: "failing", version: "1.0.0" });
server.registerTool("fail", {}, () => {
  throw new Error("x".repeat(2000));
});
server.registerTool("stay", {}, () => {
  setInterval(() => undefined, 1000);
  return new Promise(() => undefined);
});
await server.serveStdio();

// A server that finishes its calls when a container or a process manager stops it.
import { setTimeout as sleep } from "node:timers/promises";

import { Server } from "trunkline";

const server = new Server({ name: "graceful", version: "1.0.0" }, { drainDeadline: 10_000 });
server.registerTool("copy", { description: "Copy files, which takes a moment." }, async (_, ctx) => {
  await ctx.progress(1, 2);
  await sleep(200, undefined, { signal: ctx.signal });
  return "All files are copied.";
});

const listener = await server.listen({ port: Number(process.env.PORT ?? 8000) });
console.log(listener.url);
await listener.run();

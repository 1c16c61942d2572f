// A tool that reports progress, and a client that cancels another one.
import { EventEmitter, once } from "node:events";

import { CancelledError, Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "files", version: "1.0.0" });

server.registerTool(
  "copy",
  { description: "Copy files.", inputSchema: z.object({ files: z.int() }) },
  async ({ files }, ctx) => {
    for (let number = 1; number <= files; number++) await ctx.progress(number, files, `file ${number}`);
    return `${files} files are copied.`;
  },
);
const watcher = new EventEmitter();
server.registerTool("watch", { description: "Watch a folder until the caller cancels." }, async (_, { signal }) => {
  watcher.emit("watching");
  await once(signal, "abort");
  console.log("stopped watching");
  watcher.emit("stopped");
});

await using client = await Client.connect(server);
const result = await client.callTool(
  "copy",
  { files: 2 },
  {
    onProgress: ({ progress, total, message }) => {
      // Reports may be skipped if they arrive faster than they are read, except the last.
      if (progress === total) console.log(`${progress} of ${total}: ${message}`);
    },
  },
);
console.log(result.text);
const abort = new AbortController();
const [watching, stopped] = [once(watcher, "watching"), once(watcher, "stopped")];
const cancelled = client.callTool("watch", {}, { signal: abort.signal }).catch((error: unknown) => {
  if (!(error instanceof CancelledError)) throw error;
});
await watching;
abort.abort();
await Promise.all([cancelled, stopped]);

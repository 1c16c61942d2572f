// Log messages for the client, and the library's own log.
import { Client, Server, setLogger } from "trunkline";

// The library logs to stderr unless you pass it a logger.
setLogger(({ level, target, message }) => console.error(level, target, message));

const server = new Server({ name: "backup", version: "1.0.0" });

server.registerTool("backup", { description: "Back up all files." }, (_, ctx) => {
  ctx.debug("looking for changes");
  ctx.info({ files: 3 }, "copier");
  return "done";
});

await using client = await Client.connect(server, {
  logLevel: "info",
  onLog: ({ level, logger, data }) => {
    const { files } = data as { files: number };
    console.log(`${level} of the ${logger}: ${files} files`);
  },
});
console.log((await client.callTool("backup")).text);

// A tool that only works in folders its client allows.
import { Client, Server } from "trunkline";

const server = new Server({ name: "search", version: "1.0.0" });

server.registerTool("folders", { description: "Name the folders that may be searched." }, async (_, ctx) => {
  const roots = await ctx.listRoots();
  return roots.map(({ name, uri }) => name ?? uri).join(", ");
});

await using client = await Client.connect(server, {
  roots: [{ uri: "file:///home/ada/notes", name: "notes" }, { uri: "file:///srv/wiki" }],
});
console.log((await client.callTool("folders")).text);

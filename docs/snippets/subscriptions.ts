// A client that is notified when a resource changes, and when the list of tools does.
import { Client, Server } from "trunkline";

const server = new Server({ name: "notes", version: "1.0.0" });
const notes = ["Buy milk."];

server.registerResource("today", "notes://today", { description: "The note of today." }, () => notes.at(-1));
const clear = server.registerTool("clear", { description: "Forget all notes." }, () => {
  notes.length = 0;
});

await using client = await Client.connect(server);
const changes = await client.subscribe({ resources: ["notes://today"], tools: true });

notes.push("Call Ada.");
server.resourceUpdated("notes://today");
for await (const { kind, uri } of changes) {
  if (kind === "tools") {
    console.log(kind);
    break;
  }
  console.log(kind, uri);
  const { contents: [first] } = await client.readResource("notes://today");
  if (first && "text" in first) console.log(first.text);

  clear.remove();
}

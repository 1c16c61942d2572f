// A resource, a resource template, and a client that reads both.
import { Client, ProtocolError, Server } from "trunkline";

const notes = new Map([["today", "Buy milk."], ["friday", "Call Ada."]]);

const server = new Server({ name: "notes", version: "1.0.0" });

server.registerResource(
  "index",
  "notes://index",
  { description: "The names of all notes.", mimeType: "text/plain" },
  () => [...notes.keys()].join(", "),
);
server.registerResource(
  "note",
  "notes://by-name/{name}",
  { description: "One note.", mimeType: "text/plain" },
  (_, { name }) => notes.get(name),
);

await using client = await Client.connect(server);
for (const { uri, mimeType } of await client.listResources()) console.log(uri, mimeType);
for (const { uriTemplate } of await client.listResourceTemplates()) console.log(uriTemplate);
for (const uri of ["notes://index", "notes://by-name/friday"]) {
  const { contents: [first] } = await client.readResource(uri);
  if (first && "text" in first) console.log(first.text);
}
try {
  await client.readResource("notes://by-name/monday");
} catch (error) {
  if (error instanceof ProtocolError) console.log(error.kind, error.code);
}

// Notes that a model can write and read. Serves stdio; given a port, HTTP.
import { Server, ToolError } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "notes", version: "1.0.0" }, { instructions: "Keeps short notes for the user." });
const notes = new Map<string, string>();

server.registerTool(
  "add_note",
  {
    description: "Save a note under a name.",
    inputSchema: z.object({
      name: z.string().describe("A single word, such as groceries."),
      text: z.string().describe("The note."),
    }),
  },
  ({ name, text }) => {
    if (notes.has(name)) throw new ToolError(`A note named ${name} already exists: choose another name.`);
    notes.set(name, text);
    server.resourceUpdated("notes://all");
    return `Saved ${name}.`;
  },
);

server.registerResource("all", "notes://all", { description: "All notes.", mimeType: "text/markdown" }, () =>
  [...notes].map(([name, text]) => `- ${name}: ${text}`).join("\n"),
);

server.registerPrompt(
  "plan",
  { description: "Plan a day with the notes.", argsSchema: z.object({ day: z.string() }) },
  ({ day }) => `Read notes://all and plan ${day} accordingly.`,
);

const port = process.argv[2];
if (port === undefined) await server.serveStdio();
else {
  const listener = await server.listen({ port: Number(port) });
  console.log(listener.url);
  await listener.run();
}

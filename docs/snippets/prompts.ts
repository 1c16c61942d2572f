// A prompt with arguments, one of them optional, and a client that gets it.
import { assistant, Client, Server, user } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "review", version: "1.0.0" });

server.registerPrompt(
  "review",
  {
    description: "Review code.",
    argsSchema: z.object({ code: z.string().describe("The code to review"), focus: z.string().default("errors") }),
  },
  ({ code, focus }) => [
    user(`Review this code, above all for ${focus}: ${code}`),
    assistant("I will list each finding with its line."),
  ],
);

await using client = await Client.connect(server);
for (const { name, description, arguments: all = [] } of await client.listPrompts()) {
  const needed = all.filter(({ required }) => required).map(({ name }) => name);
  console.log(`${name}: ${description} Needs ${needed.join(", ")}.`);
}
const { messages } = await client.getPrompt("review", { code: "x = 1" });
for (const { role, content } of messages) if (content.type === "text") console.log(`${role}: ${content.text}`);

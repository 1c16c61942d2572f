// A tool that asks the user of its client, and a client that lets its user answer.
import { Client, Server, type CallToolResult } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "restaurant", version: "1.0.0" });

server.registerTool("book", { description: "Book a table." }, async (_, ctx) => {
  const { action, content } = await ctx.elicit("A table for how many?", z.object({ people: z.int() }));
  return action === "accept" ? `A table for ${content.people} is booked.` : "Nothing was booked.";
});

const text = ({ content }: CallToolResult) => content.map((block) => (block.type === "text" ? block.text : "")).join("");

await using client = await Client.connect(server, {
  onElicit: ({ message }) => {
    console.log(message); // here the user fills in the form of `requestedSchema`
    return { action: "accept", content: { people: 4 } };
  },
});
console.log(text(await client.callTool("book")));

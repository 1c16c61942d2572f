// A tool that asks the user a question, and a client that answers it.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "restaurant", version: "1.0.0" });

server.registerTool("book", { description: "Book a table." }, async (_, ctx) => {
  const { action, content } = await ctx.elicit("A table for how many?", z.object({ people: z.int() }));
  return action === "accept" ? `A table for ${content.people} is booked.` : "Nothing was booked.";
});

await using client = await Client.connect(server, {
  onElicit: ({ message }) => {
    console.log(message); // here the user fills in the form of `requestedSchema`
    return { action: "accept", content: { people: 4 } };
  },
});
console.log((await client.callTool("book")).text);

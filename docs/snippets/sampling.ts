// A tool that samples the client's model, and a client with a model.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "notes", version: "1.0.0" });

server.registerTool(
  "summarize",
  { description: "Summarize a text.", inputSchema: z.object({ text: z.string() }) },
  async ({ text }, ctx) => {
    const { content } = await ctx.sample(`Summarize in three words: ${text}`, { maxTokens: 50 });
    return content;
  },
);

await using client = await Client.connect(server, {
  onSample: ({ maxTokens }) => {
    console.log(`at most ${maxTokens} tokens`); // here the host asks its model
    return { role: "assistant", content: { type: "text", text: "Snow in Oslo" }, model: "a-model" };
  },
});
console.log((await client.callTool("summarize", { text: "It has been snowing in Oslo since Monday." })).text);

// A tool with typed arguments, and a client in the same process.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "weather", version: "1.0.0" });

server.registerTool(
  "forecast",
  {
    description: "Forecast the weather of a city.",
    inputSchema: z.object({
      city: z.string().describe("The name of the city."),
      days: z.int().min(1).max(7).default(2).describe("The number of days."),
    }),
  },
  ({ city, days }) => `${city}: ${Array(days).fill("snow").join(", ")}`,
);

await using client = await Client.connect(server);
for (const tool of await client.listTools()) console.log(`${tool.name}: ${tool.description}`);
console.log((await client.callTool("forecast", { city: "Oslo" })).text);
const refused = await client.callTool("forecast", { city: "Oslo", days: 20 });
console.log(refused.isError ? "refused" : refused.text);

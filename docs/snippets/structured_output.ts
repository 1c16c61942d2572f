// A tool that returns an object with a schema.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "weather", version: "1.0.0" });

const Weather = z.object({ sky: z.string(), degrees: z.number() });

server.registerTool(
  "weather",
  { description: "The weather of a city.", inputSchema: z.object({ city: z.string() }), outputSchema: Weather },
  ({ city }) => ({ sky: `snow over ${city}`, degrees: -3.5 }),
);

await using client = await Client.connect(server);
console.log((await client.callTool("weather", { city: "Oslo" })).text);
const { structuredContent: today } = await client.callTool("weather", { city: "Oslo" }, { result: Weather });
console.log(`${today.sky}, ${today.degrees} degrees`);

// Suggestions for a prompt argument while the user types.
import { Client, Server } from "trunkline";
import { z } from "zod";

const cities = ["Oslo", "Osaka", "Rome"];

const server = new Server({ name: "trips", version: "1.0.0" });

server.registerPrompt(
  "packing",
  {
    description: "List the things to pack for a city.",
    argsSchema: z.object({ city: z.string() }),
    complete: { city: (text) => cities.filter((city) => city.startsWith(text)) },
  },
  ({ city }) => `Write a packing list for ${city}.`,
);

await using client = await Client.connect(server);
const { completion } = await client.complete({ type: "ref/prompt", name: "packing" }, { name: "city", value: "Os" });
console.log(completion.values.join(", "));

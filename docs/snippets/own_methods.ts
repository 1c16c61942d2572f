// A vendor-specific method, and a client that calls it.
import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "sums", version: "1.0.0" });

server.registerRequestHandler("com.acme/sum", { paramsSchema: z.object({ terms: z.array(z.number()) }) }, async ({ terms }, ctx) => {
  await ctx.progress(1, 1);
  return { sum: terms.reduce((sum, term) => sum + term, 0) };
});

await using client = await Client.connect(server);
const result = z.object({ sum: z.number() }).parse(await client.request("com.acme/sum", { terms: [1, 2, 39] }));
console.log(result.sum);

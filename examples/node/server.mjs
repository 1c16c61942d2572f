// A server with one tool. Over stdio: node server.mjs; over HTTP: node server.mjs 8000
import { Server, ToolError } from "trunkline";

const cities = new Map([["Oslo", "snow"], ["Rome", "sunny"]]);

const server = new Server({ name: "weather", version: "1.0.0" });

server.registerTool(
  "forecast",
  {
    description: "Forecast the weather of a city.",
    inputSchema: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
      required: ["city"],
    },
  },
  async ({ city, days = 3 }, ctx) => {
    const weather = cities.get(city);
    if (weather === undefined) throw new ToolError(`no forecast for ${city}; try ${[...cities.keys()].join(" or ")}`);
    const lines = [];
    for (let day = 1; day <= days; day++) {
      ctx.signal.throwIfAborted();
      lines.push(`day ${day}: ${weather}`);
      await ctx.progress(day, days);
    }
    return lines.join("\n");
  },
);

const port = process.argv[2];
if (port === undefined) {
  await server.serveStdio();
} else {
  const { url } = await server.listen({ port: Number(port) });
  console.log(`listening at ${url}`);
}

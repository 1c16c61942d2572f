// A host built on the AI SDK: the model calls the tools of a group of servers.
import { dynamicTool, generateText, jsonSchema, stepCountIs } from "ai";
import { Client, ClientGroup, type ContentBlock, Server, type Tool, type ToolResult } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "weather", version: "1.0.0" });
const snow = { type: "image", mimeType: "image/gif", data: "R0lGODdhAQABAIABAP///wAAACwAAAAAAQABAAACAkQBADs=" } as const;
server.registerTool(
  "forecast",
  { description: "Forecast the weather of a city.", inputSchema: z.object({ city: z.string() }) },
  ({ city }) => [`${city}: snow`, snow],
);

await using client = await Client.connect(server);
await using group = await ClientGroup.connect({ weather: client }); // or the path of an mcp.json

type Block = { type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string };

const blockForModel = (block: ContentBlock): Block[] => {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  return [{ type: "image-data", data: block.data, mediaType: block.mimeType }];
};

const toolFor = ({ name, description = "", inputSchema }: Tool) =>
  dynamicTool({
    description,
    inputSchema: jsonSchema(inputSchema),
    execute: (input, { abortSignal }) => group.callTool(name, input as object, { signal: abortSignal }),
    toModelOutput: ({ output }) => {
      const { content, isError, text } = output as ToolResult;
      return isError ? { type: "error-text", value: text } : { type: "content", value: content.flatMap(blockForModel) };
    },
  });
const tools = Object.fromEntries((await group.listTools()).map((tool) => [tool.name, toolFor(tool)]));

const prompt = "How is the weather in Oslo?";
const { text } = await generateText({ model: "openai/gpt-5", tools, prompt, stopWhen: stepCountIs(5) });
console.log(text);

// A server's tools in the formats of model providers, and a result as the model sees it.
import { type CallToolResult, Client, type ContentBlock, Server, type Tool } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "weather", version: "1.0.0" });
server.registerTool(
  "forecast",
  { description: "Forecast the weather of a city.", inputSchema: z.object({ city: z.string() }) },
  ({ city }) => `${city}: snow`,
);

const forOpenAI = ({ name, description = "", inputSchema: parameters }: Tool) => ({
  type: "function",
  function: { name, description, parameters },
});

const forAnthropic = ({ name, description = "", inputSchema }: Tool) => ({ name, description, input_schema: inputSchema });

const forGemini = ({ name, description = "", inputSchema: parametersJsonSchema }: Tool) => ({ name, description, parametersJsonSchema });

type Block =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: string; data: string } };

const blockForAnthropic = (block: ContentBlock): Block[] => {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  return [{ type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } }];
};

const resultForAnthropic = (use: string, { content, isError = false }: CallToolResult) => ({
  type: "tool_result",
  tool_use_id: use,
  content: content.flatMap(blockForAnthropic),
  is_error: isError,
});

await using client = await Client.connect(server);
for (const tool of await client.listTools()) {
  console.log(`openai: ${tool.name} needs ${String(forOpenAI(tool).function.parameters["required"])}`);
  console.log(`anthropic: ${tool.name} needs ${String(forAnthropic(tool).input_schema["required"])}`);
  console.log(`gemini: ${tool.name} needs ${String(forGemini(tool).parametersJsonSchema["required"])}`);
}
const { content } = resultForAnthropic("toolu_1", await client.callTool("forecast", { city: "Oslo" }));
for (const block of content) if (block.type === "text") console.log(`${block.type}: ${block.text}`);

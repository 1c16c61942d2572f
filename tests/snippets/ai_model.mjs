// Stands in for the model of `in_ai_sdk`, which tests cannot reach: calls the only tool, then
// describes its result.
import { MockLanguageModelV3, MockProviderV3 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = ([{ name }]) => ({ type: "tool-call", toolCallId: "1", toolName: name, input: JSON.stringify({ city: "Oslo" }) });
const block = ({ type, text, mediaType }) => `${type} ${text ?? mediaType}`;

const doGenerate = ({ prompt, tools }) => {
  const { role, content } = prompt.at(-1);
  if (role === "user") return { content: [call(tools)], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
  const [{ output, toolName }] = content;
  const text = `${toolName} returned ${output.type}: ${output.value.map(block).join(", ")}`;
  return { content: [{ type: "text", text }], finishReason: { unified: "stop" }, usage, warnings: [] };
};

const model = new MockLanguageModelV3({ doGenerate: async (options) => doGenerate(options) });
globalThis.AI_SDK_DEFAULT_PROVIDER = new MockProviderV3({ languageModels: { "openai/gpt-5": model } });

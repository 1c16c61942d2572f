// Tool results as the caller wants them: unchanged, or validated and typed by a schema.
import { ToolError } from "./errors.js";
import { TransportError } from "./generated/errors.js";
import type { CallToolResult, JsonObject } from "./generated/model.js";
import type { ExpectedResult, ToolCallOptions } from "./requests.js";
import { convert, needsWrap, type Schema } from "./schema/convert.js";
import { placed, validated } from "./schema/validate.js";

/** Returns the schema for the core's validation, and the reader of the result. */
export function expectation({ result: schema, raiseOnError }: ToolCallOptions<Schema | undefined>): { expected?: ExpectedResult; read: (result: CallToolResult) => unknown } {
  const refuse = (result: CallToolResult): CallToolResult => {
    if (result.isError) throw new ToolError(textOf(result));
    return result;
  };
  if (schema === undefined) return { read: (result) => withText(raiseOnError ? refuse(checked(result)) : checked(result)) };
  const { json, validate } = convert(schema, "input", "the schema of a result");
  const wrapped = needsWrap(json);
  const read = (result: CallToolResult): unknown => {
    const content = refuse(checked(result)).structuredContent as JsonObject;
    return validated(
      validate,
      wrapped ? content["result"] : content,
      (value: unknown) => withText({ ...result, structuredContent: wrapped ? { result: value } : value }),
      (issues) => new TransportError(`the structured content does not match its schema: ${placed(issues)}`),
    );
  };
  return { expected: { resultSchema: json, wrapResult: wrapped }, read };
}

/**
 * Checks the content of a peer's result, which the text getter relies on. Some servers leave it out
 * next to structured content, or write null.
 */
function checked(result: CallToolResult): CallToolResult {
  if (typeof result !== "object" || (result as CallToolResult | null) === null) throw new TransportError("invalid tool result: it is not an object");
  const sent: { content?: unknown; isError?: unknown } = result;
  const content = (sent.content ??= []);
  if (sent.isError === null) delete sent.isError;
  if (!["boolean", "undefined"].includes(typeof sent.isError)) throw new TransportError("invalid tool result: isError is not a boolean");
  if (!Array.isArray(content)) throw new TransportError("invalid tool result: content is not an array");
  const odd = content.findIndex((block: unknown) => typeof block !== "object" || block === null);
  if (odd >= 0) throw new TransportError(`invalid tool result: content[${odd}] is not an object`);
  return result;
}

/** Adds the text of the content, which the JSON result doesn't have. */
function withText(result: CallToolResult): CallToolResult {
  return Object.defineProperty(result, "text", { get: () => textOf(result) });
}

function textOf({ content }: CallToolResult): string {
  // A peer may have left out the text.
  return content.flatMap((block) => (block.type === "text" && typeof (block.text as unknown) === "string" ? [block.text] : [])).join("\n");
}

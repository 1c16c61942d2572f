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
  if (schema === undefined) return { read: (result) => withText(raiseOnError ? refuse(result) : result) };
  const { json, validate } = convert(schema, "input", "the schema of a result");
  const wrapped = needsWrap(json);
  const read = (result: CallToolResult): unknown => {
    const content = refuse(result).structuredContent as JsonObject;
    return validated(
      validate,
      wrapped ? content["result"] : content,
      (value: unknown) => withText({ ...result, structuredContent: wrapped ? { result: value } : value }),
      (issues) => new TransportError(`the structured content does not match its schema: ${placed(issues)}`),
    );
  };
  return { expected: { resultSchema: json, wrapResult: wrapped }, read };
}

/** Adds the text of the content, which the JSON result doesn't have. */
function withText(result: CallToolResult): CallToolResult {
  return Object.defineProperty(result, "text", { get: () => textOf(result) });
}

function textOf({ content }: CallToolResult): string {
  // A peer may have left out the text.
  return content.flatMap((block) => (block.type === "text" && typeof (block.text as unknown) === "string" ? [block.text] : [])).join("\n");
}

// Tools.
import { isContentBlock, text } from "../content.js";
import type { Context } from "../context.js";
import type { InputRequired } from "../client-requests.js";
import type { CallToolResult, Tool } from "../generated/model.js";
import { toolOptionsNames, toolOptionsTimes, type ToolOptions as GeneratedOptions } from "../generated/options.js";
import { UnfitOutput } from "../json.js";
import { answerOf, resultMembers, wholeOf, type Answer, type Parts } from "../returns.js";
import { convert, convertArguments, needsWrap, type Arguments, type OutputInput, type Schema } from "../schema/convert.js";
import type { StandardSchemaV1 } from "../schema/standard-schema.js";
import { explain, placed, validated, validating, type Issues } from "../schema/validate.js";
import { checkHandler, partsOf, type Feature, type VisibleOption } from "./feature.js";

/** The definition of a tool. */
export interface ToolOptions<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>
  extends Omit<Tool, "name" | "inputSchema" | "outputSchema" | "execution">,
    GeneratedOptions,
    VisibleOption {
  /**
   * A JSON Schema or a Standard Schema. Without one, the tool takes no arguments. Object schemas of
   * zod, arktype and valibot reject unknown arguments unless they allow them explicitly
   * (`z.looseObject`).
   */
  inputSchema?: I | undefined;
  /** A JSON Schema or a Standard Schema of the structured content. */
  outputSchema?: O | undefined;
}

/**
 * Handles calls of a tool. The return value becomes the result:
 *
 * - A string becomes text.
 * - Content blocks, and strings among them, become the content.
 * - An object, number, boolean, array, Map or Set becomes JSON.
 * - `undefined` and `null` give an empty result.
 * - `{ content: [...] }` with content blocks and only members of a result is sent as it is.
 * - With an `outputSchema`, content blocks are data too, as is `{ content: [...] }` without
 *   `structuredContent` or `isError`.
 * - An {@link InputRequired} requests input from the client first.
 *
 * A {@link ToolError} becomes a result with `isError`, a {@link ProtocolError} a JSON-RPC error.
 * Any other error is logged, and the caller gets a generic message.
 */
export type Handler<I = undefined, O = undefined> = (args: Arguments<I>, context: Context) => Returned<O> | Promise<Returned<O>>;

/** Changes to a tool. */
export type ToolChanges = ToolOptions<Schema | undefined, Schema | undefined> & { name: string };

type Returned<O> = O extends StandardSchemaV1 ? OutputInput<O> | CallToolResult | InputRequired : unknown;

/** Content blocks, in `content`. */
export const toolParts: Parts = {
  part: (value) => (isContentBlock(value) ? value : undefined),
  text,
  member: "content",
  others: new Set(["structuredContent", "isError", ...resultMembers]),
};

export function toolFeature({ name, inputSchema, outputSchema, ...rest }: ToolChanges, handler: (args: never, context: Context) => unknown): Feature {
  const noun = `tool ${JSON.stringify(name)}`;
  checkHandler(handler, noun);
  const input = inputSchema === undefined ? undefined : convertArguments(inputSchema, `the inputSchema of ${noun}`);
  const output = outputSchema === undefined ? undefined : convert(outputSchema, "output", `the outputSchema of ${noun}`);
  const wrapped = output !== undefined && needsWrap(output.json);
  const { options, members, visible } = partsOf(rest, toolOptionsNames, toolOptionsTimes);
  const described = output && { wrapped };
  const answer = (value: unknown): Answer => answerOf(value, toolParts, described);
  const unfit = (issues: Issues): Error => new UnfitOutput(placed(issues));
  return {
    kind: "tool",
    name: noun,
    description: { tool: { name, ...members, inputSchema: input?.json, outputSchema: output?.json }, wrapOutput: wrapped, explains: input?.validate && true, ...options },
    visible,
    callable: {
      ...(input?.validate && { explain: explain.bind(undefined, input.validate, input.closed) }),
      run: validating(input?.validate, handler),
      // A complete result has its structured content separately.
      answer: (returned) => (output?.validate && !wholeOf(returned, toolParts, described) ? validated(output.validate, returned, answer, unfit) : answer(returned)),
    },
  };
}

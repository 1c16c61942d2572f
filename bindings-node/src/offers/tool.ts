// Tools.
import { isContentBlock } from "../content.js";
import type { Context } from "../context.js";
import type { InputRequired } from "../input.js";
import type { CallToolResult, Icon, JsonObject, TaskSupport, ToolAnnotations } from "../model.js";
import { answerOf, resultMembers, wholeOf, type Parts } from "../returns.js";
import { convert, issueOf, needsWrap, wrap, type Arguments, type OutputInput, type Schema } from "../schema.js";
import type { StandardSchemaV1 } from "../standard.js";
import { isPromise, validated } from "../validation.js";
import { checkHandler, type Offer } from "./offer.js";

/** What a tool says of itself. */
export interface ToolConfig<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined> {
  title?: string;
  description?: string;
  /** A JSON Schema or a Standard Schema. Without one the tool takes no arguments. */
  inputSchema?: I;
  outputSchema?: O;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: JsonObject;
  /** Capabilities that a client must have to call this, such as `{ sampling: {} }`. */
  requires?: JsonObject;
  /** What the access token of a call must grant beside what the endpoint needs. Where no tokens are verified, nothing is needed. */
  scopes?: readonly string[];
  /** Whether calls may, must or cannot be tasks: work that the client asks for again instead of waiting for its answer; `forbidden`. */
  task?: TaskSupport;
  /** On 2026-07-28 a call begins as a call, and `ctx.startTask()` makes a task of it; false. */
  deferTask?: boolean;
  /** The URI (`ui://…`) of a resource that shows what this tool does, for clients with MCP Apps: `ui.resourceUri` in `_meta`. */
  ui?: string;
}

/**
 * Answers calls of a tool. What it returns becomes the result: a string is text; content blocks are the content; an object, number, boolean, array
 * or null is JSON; `{ content: [...] }` with content blocks, and with no members but those of a result, is the whole result; an {@link InputRequired} asks the client first. A {@link ToolError} is a failure that the
 * caller sees, a {@link ProtocolError} a JSON-RPC error; anything else that is thrown is logged and the caller gets a generic text.
 */
export type Handler<I = undefined, O = undefined> = (args: Arguments<I>, context: Context) => Returned<O> | Promise<Returned<O>>;

type Returned<O> = O extends StandardSchemaV1 ? OutputInput<O> | CallToolResult | InputRequired : unknown;

/** Content blocks, in `content`. */
export const toolParts: Parts = {
  part: (value) => (isContentBlock(value) ? value : undefined),
  member: "content",
  beside: new Set(["structuredContent", "isError", ...resultMembers]),
};

export function toolOffer(name: string, config: ToolConfig<Schema | undefined, Schema | undefined>, handler: (args: never, context: Context) => unknown): Offer {
  const { inputSchema, outputSchema, requires, scopes, task, deferTask, ui, ...rest } = config;
  const quoted = JSON.stringify(name);
  checkHandler(handler, `tool ${quoted}`);
  const input = inputSchema === undefined ? undefined : convert(inputSchema, "input", `the inputSchema of tool ${quoted}`);
  const output = outputSchema === undefined ? undefined : convert(outputSchema, "output", `the outputSchema of tool ${quoted}`);
  const wrapped = output !== undefined && needsWrap(output.json);
  const schemas = { inputSchema: input?.json, outputSchema: output && wrapped ? wrap(output.json) : output?.json };
  const tool = { name, ...rest, ...schemas, execution: task && { taskSupport: task }, _meta: ui === undefined ? rest._meta : shownBy(ui, rest._meta) };
  return {
    kind: "tool",
    description: { tool, wrapOutput: wrapped, requires, scopes, deferTask },
    callable: {
      run: (args, context) => validated(input?.validate, args, (args) => handler(args, context)),
      answer: (returned) => {
        // A whole result has its structured content apart.
        const checked = output?.validate && !wholeOf(returned, toolParts) ? output.validate(returned) : undefined;
        if (isPromise(checked)) return checked.then((checked) => answerOf(outputOf(checked), toolParts, wrapped));
        return answerOf(checked ? outputOf(checked) : returned, toolParts, wrapped);
      },
    },
  };
}

function shownBy(resourceUri: string, meta: JsonObject = {}): JsonObject {
  return { ...meta, ui: { ...(meta["ui"] as JsonObject | undefined), resourceUri } };
}

function outputOf(result: StandardSchemaV1.Result<unknown>): unknown {
  if (!result.issues) return result.value;
  const { path, message } = issueOf(result.issues);
  throw new Error(`the handler's return value does not fit the output schema: ${path === "" ? "/" : path}: ${message}`);
}

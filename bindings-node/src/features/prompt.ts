// Prompts.
import { isContentBlock } from "../content.js";
import type { Context } from "../context.js";
import { invalid } from "../errors.js";
import type { JsonObject, Prompt, PromptArgument } from "../generated/model.js";
import { promptOptionsNames, promptOptionsTimes, type PromptOptions as GeneratedOptions } from "../generated/options.js";
import { answerOf, resultMembers, type Parts } from "../returns.js";
import { convertObject } from "../schema/convert.js";
import type { StandardSchemaV1 } from "../schema/standard-schema.js";
import { InvalidArguments, validating } from "../schema/validate.js";
import { completersOf, type Completions } from "./completion.js";
import { checkHandler, partsOf, type Feature, type VisibleOption } from "./feature.js";

/** The definition of a prompt. */
export interface PromptOptions<A extends StandardSchemaV1 | undefined = undefined> extends Omit<Prompt, "name" | "arguments">, GeneratedOptions, VisibleOption {
  /**
   * A Standard Schema of an object whose properties are the arguments. Clients send strings, so
   * other types need coercion (`z.coerce.number()`).
   */
  argsSchema?: A | undefined;
  /** The arguments, if there is no schema. */
  arguments?: readonly PromptArgument[] | undefined;
  /** Completions of arguments, by name. Unknown names are rejected. */
  complete?: Completions<ArgumentNames<A>> | undefined;
}

/** The names of a prompt's arguments, if its schema declares them. */
type ArgumentNames<A> = A extends StandardSchemaV1 ? (keyof StandardSchemaV1.InferOutput<A> extends never ? string : keyof StandardSchemaV1.InferOutput<A> & string) : string;

/** The type of a prompt's arguments. */
export type PromptArguments<A> = A extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<A> : Record<string, string>;

/**
 * Fills in a prompt. A string or a content block becomes a user message; `user(...)` and
 * `assistant(...)` create messages; return an array for several of these. `{ messages: [...] }` is
 * sent as it is.
 */
export type PromptHandler<A = undefined> = (args: PromptArguments<A>, context: Context) => unknown;

/** Changes to a prompt. */
export type PromptChanges = PromptOptions<StandardSchemaV1 | undefined> & { name: string };

/** Messages, and values that become user messages, in `messages`. */
export const promptParts: Parts = {
  part: (value) => (typeof value === "string" || isMessage(value) || isContentBlock(value) ? value : undefined),
  member: "messages",
  others: new Set(["description", ...resultMembers]),
};

export function promptFeature({ name, argsSchema, arguments: listed, complete, ...rest }: PromptChanges, handler: (args: never, context: Context) => unknown): Feature {
  const noun = `prompt ${JSON.stringify(name)}`;
  checkHandler(handler, noun);
  if (argsSchema && listed) throw invalid(`${noun} has both argsSchema and arguments: keep one of them`);
  const args = argsSchema && convertObject(argsSchema, `the argsSchema of ${noun}`);
  if (args && "type" in args.json && args.json["type"] !== "object") throw invalid(`the argsSchema of ${noun} must describe an object, as in z.object({ … })`);
  const { options, members, visible } = partsOf(rest, promptOptionsNames, promptOptionsTimes);
  return {
    kind: "prompt",
    name: noun,
    description: { prompt: { name, ...members, arguments: args ? argumentsOf(args.json) : listed }, ...options },
    visible,
    completers: completersOf(complete),
    callable: {
      run: validating(args?.validate, handler, (issues) => new InvalidArguments(issues, `Invalid arguments for ${noun}: `)),
      answer: (returned) => answerOf(returned, promptParts),
    },
  };
}

function argumentsOf(schema: JsonObject): PromptArgument[] {
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, PromptArgument>);
  return properties.map(([name, { title, description }]) => ({ name, title, description, required: required.has(name) }));
}

function isMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "role" in value && typeof value.role === "string" && "content" in value;
}

// Requests of a handler to its client: outcomes, forms and rounds.
import type { JsonObject, SamplingMessage } from "./generated/model.js";
import type { InputRequest } from "./generated/operations.js";
import { convert, type Converted, type Schema } from "./schema/convert.js";
import type { StandardSchemaV1 } from "./schema/standard-schema.js";

/** The outcome of a form. `content` is valid against the schema. */
export type ElicitResult<C = JsonObject> = { action: "accept"; content: C } | { action: "decline" | "cancel"; content?: undefined };

/** The type of a form's content: the output of a Standard Schema. */
export type FormContent<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a JSON Schema says nothing to the compiler
    Record<string, any>;

/** The outcome of a link. Acceptance does not imply that the user is done with the page. */
export interface ElicitUrlResult {
  /** The choice of the user. */
  action: "accept" | "decline" | "cancel";
}

/** The schema of a form as a JSON Schema. */
export function formSchema(schema: Schema): JsonObject {
  return form(schema).json;
}

/** The schema of a form, and the schema library's validation of its content. */
export function form(schema: Schema): Converted {
  return convert(schema, "input", "the schema of an elicitation");
}

/** Messages of a conversation; a string is a message of the user. */
export function conversation(messages: string | SamplingMessage | readonly SamplingMessage[]): readonly SamplingMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: { type: "text", text: messages } }];
  return Array.isArray(messages) ? (messages as readonly SamplingMessage[]) : [messages as SamplingMessage];
}

/**
 * Returned by a handler of a tool, prompt or resource that needs input of the client first. The
 * handler runs again from the top, with the responses in `ctx.inputResponses` by the same keys and
 * with `ctx.state`, which travels sealed. Most handlers use `ctx.elicit` and its like instead.
 */
export class InputRequired {
  constructor(
    /** The requests, by keys of the handler's own. */
    readonly inputRequests: Readonly<Record<string, InputRequest>>,
    /** Any JSON value. */
    readonly state?: unknown,
  ) {}
}

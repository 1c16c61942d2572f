// Requests that handlers send to their client: outcomes, forms and rounds.
import type { JsonObject, SamplingMessage } from "./generated/model.js";
import type { InputRequest } from "./generated/operations.js";
import { convertObject, type Arguments, type Converted, type Schema } from "./schema/convert.js";

/** The user's response to a form. `content` is valid against the schema. */
export type ElicitResult<C = JsonObject> = { action: "accept"; content: C } | { action: "decline" | "cancel"; content?: undefined };

/** The type of a form's content: the output of a Standard Schema. */
export type FormContent<S> = Arguments<S>;

/**
 * The user's response to a link. `accept` does not mean that the user has finished with the page.
 */
export interface ElicitUrlResult {
  /** The user's choice. */
  action: "accept" | "decline" | "cancel";
}

/** The JSON Schema of a form. */
export function formSchema(schema: Schema): JsonObject {
  return form(schema).json;
}

/** The schema of a form, and the schema library's validation of its content. */
export function form(schema: Schema): Converted {
  return convertObject(schema, "the schema of an elicitation");
}

/** The messages of a conversation; a string is a user message. */
export function conversation(messages: string | SamplingMessage | readonly SamplingMessage[]): readonly SamplingMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: { type: "text", text: messages } }];
  return Array.isArray(messages) ? (messages as readonly SamplingMessage[]) : [messages as SamplingMessage];
}

/**
 * Returned by a handler of a tool, prompt or resource that needs input from the client first. The
 * handler then runs again from the start, with the responses in `ctx.inputResponses` under the same
 * keys, and with `ctx.state`, which is sealed. Most handlers use `ctx.elicit` and similar methods
 * instead.
 */
export class InputRequired {
  constructor(
    /** The requests, under keys of your choice. */
    readonly inputRequests: Readonly<Record<string, InputRequest>>,
    /** Any JSON value. */
    readonly state?: unknown,
  ) {}
}
Object.defineProperty(InputRequired.prototype, Symbol.for("trunkline.class"), { value: "InputRequired" });

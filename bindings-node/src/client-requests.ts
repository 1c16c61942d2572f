// Requests of a handler to its client. The context sends them; an InputRequired carries them.
import type { JsonObject, SamplingMessage, SamplingParams } from "./generated/model.js";
import { clientRequests, type InputRequest } from "./generated/operations.js";
import { convert, type Schema, type Validate } from "./schema/convert.js";
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
  action: "accept" | "decline" | "cancel";
}

/**
 * A form for the user. The schema is a flat object of strings, numbers, booleans and choices, as a
 * JSON Schema or a Standard Schema. The response is an {@link ElicitResult}.
 */
export function elicit(message: string, schema: Schema): InputRequest {
  return form(message, schema).request;
}

/**
 * A page for the user to visit, whose input the client never sees. The response is an
 * {@link ElicitUrlResult}.
 */
export function elicitUrl(message: string, url: string | URL, { elicitationId }: { elicitationId?: string } = {}): InputRequest {
  const { method, params } = clientRequests.elicitUrl(message, String(url));
  return { method, params: elicitationId === undefined ? { ...params } : { ...params, elicitationId } };
}

/**
 * A conversation for the client's model; a string is a message of the user. The response is a
 * {@link CreateMessageResult}.
 */
export function sample(messages: string | SamplingMessage | readonly SamplingMessage[], params: SamplingParams): InputRequest {
  return clientRequests.sample(conversation(messages), params);
}

/** A request for the client's roots. The response is `{ roots: Root[] }`. */
export function roots(): InputRequest {
  return clientRequests.listRoots();
}

/** A form, and the schema library's validation of its content. */
export function form(message: string, schema: Schema): { request: InputRequest; validate: Validate | undefined } {
  const { json, validate } = convert(schema, "input", "the schema of an elicitation");
  return { request: clientRequests.elicit(message, json), validate };
}

/**
 * Returned by a handler of a tool, prompt or resource that needs input of the client first. The
 * handler runs again from the top, with the responses in `ctx.inputResponses` by the same keys and
 * with `ctx.state`, which travels sealed. Most handlers use `ctx.elicit` and its like instead.
 */
export class InputRequired {
  constructor(
    readonly inputRequests: Readonly<Record<string, InputRequest>>,
    /** Any JSON value. */
    readonly state?: unknown,
  ) {}
}

function conversation(messages: string | SamplingMessage | readonly SamplingMessage[]): readonly SamplingMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: { type: "text", text: messages } }];
  return Array.isArray(messages) ? (messages as readonly SamplingMessage[]) : [messages as SamplingMessage];
}

// What a handler may ask the client for. The same requests are sent by the context, and carried by an InputRequired.
import { convert, type Schema, type Validate } from "./schema.js";
import type { AudioContent, ContentBlock, ImageContent, JsonObject, Role, TextContent, Tool } from "./model.js";
import type { StandardSchemaV1 } from "./standard.js";

/** A request to the client: `elicit`, `elicitUrl`, `sample` and `roots` make it. */
export interface InputRequest {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params?: JsonObject;
}

/** What the user did with a form. `content` fits the schema. */
export type ElicitResult<C = JsonObject> = { action: "accept"; content: C } | { action: "decline" | "cancel"; content?: undefined };

/** The type of what a form gives: after defaults and transforms of a Standard Schema. */
export type FormContent<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a JSON Schema says nothing to the compiler
    Record<string, any>;

/** What the user did with a link. That it was accepted does not say that the page is done. */
export interface ElicitUrlResult {
  action: "accept" | "decline" | "cancel";
}

/** The model wants to use a tool. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
  _meta?: JsonObject;
}

/** What a tool gave to the model. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JsonObject;
}

export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** A message of a conversation with the client's model. Several parts, and tools, from revision 2025-11-25 on. */
export interface SamplingMessage {
  role: Role;
  content: SamplingContent | SamplingContent[];
  _meta?: JsonObject;
}

/** What the model is asked with. */
export interface SamplingParams {
  /** The most tokens to generate. */
  maxTokens: number;
  systemPrompt?: string;
  /** From 0 (does not matter) to 1. */
  modelPreferences?: { hints?: { name?: string }[]; costPriority?: number; speedPriority?: number; intelligencePriority?: number };
  /** Deprecated but for `none`. */
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  /** For the provider of the model. */
  metadata?: JsonObject;
  tools?: Tool[];
  toolChoice?: { mode?: "auto" | "required" | "none" };
  _meta?: JsonObject;
}

/** What the model answered. */
export interface CreateMessageResult {
  role: Role;
  content: SamplingContent | SamplingContent[];
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of the provider. */
  stopReason?: string;
  _meta?: JsonObject;
}

/** A root of the client. */
export interface Root {
  uri: string;
  name?: string;
  _meta?: JsonObject;
}

/**
 * A form for the user. The schema is a flat object of texts, numbers, booleans and choices: a JSON Schema or a Standard Schema.
 * The answer comes as an {@link ElicitResult}.
 */
export function elicit(message: string, schema: Schema): InputRequest {
  return form(message, schema).request;
}

/** A page for the user to visit, where the client never sees what is typed. The answer comes as an {@link ElicitUrlResult}. */
export function elicitUrl(message: string, url: string | URL, { elicitationId }: { elicitationId?: string } = {}): InputRequest {
  return { method: "elicitation/create", params: { mode: "url", message, url: String(url), ...(elicitationId === undefined ? {} : { elicitationId }) } };
}

/** A question to the client's model; a text is a message of the user. The answer comes as a {@link CreateMessageResult}. */
export function sample(messages: string | SamplingMessage | readonly SamplingMessage[], params: SamplingParams): InputRequest {
  return { method: "sampling/createMessage", params: { ...params, messages: conversation(messages) } };
}

/** The question for the client's roots. The answer comes as `{ roots: Root[] }`. */
export function roots(): InputRequest {
  return { method: "roots/list" };
}

/** A form, and the library's half of the validation of its answer. */
export function form(message: string, schema: Schema): { request: InputRequest; validate: Validate | undefined } {
  const { json, validate } = convert(schema, "input", "the schema of an elicitation");
  return { request: { method: "elicitation/create", params: { message, requestedSchema: json } }, validate };
}

/**
 * Returned by a handler of a tool, prompt or resource that needs input of the client first: the handler is called again from the top, with the answers
 * in `ctx.inputResponses` by the same keys, and with `ctx.state`. The state travels sealed. Most handlers do without: `ctx.elicit` and its like give the
 * answer where it is needed.
 */
export class InputRequired {
  constructor(
    readonly inputRequests: Readonly<Record<string, InputRequest>>,
    /** Anything that can be JSON. */
    readonly state?: unknown,
  ) {}
}

function conversation(messages: string | SamplingMessage | readonly SamplingMessage[]): readonly SamplingMessage[] {
  if (typeof messages === "string") return [{ role: "user", content: { type: "text", text: messages } }];
  return Array.isArray(messages) ? (messages as readonly SamplingMessage[]) : [messages as SamplingMessage];
}

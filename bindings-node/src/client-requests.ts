// Requests of a handler to its client. The context sends them; an InputRequired carries them.
import type { AudioContent, ContentBlock, ImageContent, JsonObject, Role, TextContent, Tool } from "./model.js";
import { convert, type Schema, type Validate } from "./schema/convert.js";
import type { StandardSchemaV1 } from "./schema/standard-schema.js";

/** A request to the client, made by `elicit`, `elicitUrl`, `sample` or `roots`. */
export interface InputRequest {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params?: JsonObject;
}

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

/** A use of a tool that the model requests. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
  _meta?: JsonObject;
}

/** The result of a tool use, for the model. */
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

/** Parameters of sampling. */
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

/** The message that the model generated. */
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
  return { method: "elicitation/create", params: { mode: "url", message, url: String(url), ...(elicitationId === undefined ? {} : { elicitationId }) } };
}

/**
 * A conversation for the client's model; a string is a message of the user. The response is a
 * {@link CreateMessageResult}.
 */
export function sample(messages: string | SamplingMessage | readonly SamplingMessage[], params: SamplingParams): InputRequest {
  return { method: "sampling/createMessage", params: { ...params, messages: conversation(messages) } };
}

/** A request for the client's roots. The response is `{ roots: Root[] }`. */
export function roots(): InputRequest {
  return { method: "roots/list" };
}

/** A form, and the schema library's validation of its content. */
export function form(message: string, schema: Schema): { request: InputRequest; validate: Validate | undefined } {
  const { json, validate } = convert(schema, "input", "the schema of an elicitation");
  return { request: { method: "elicitation/create", params: { message, requestedSchema: json } }, validate };
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

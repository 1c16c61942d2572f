// The words of the newest revision of the specification that users of this package see. Peers of older revisions get and give less; the core
// translates.

/** Any JSON object. */
export type JsonObject = Record<string, unknown>;

/** Who a server or client is. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}

export interface Icon {
  src: string;
  mimeType?: string;
  /** Sizes such as `"48x48"`, or `"any"`. */
  sizes?: string[];
  theme?: "light" | "dark";
}

/** Hints about content for whoever shows or reads it. */
export interface Annotations {
  audience?: ("user" | "assistant")[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** An ISO 8601 time. */
  lastModified?: string;
}

interface Block {
  annotations?: Annotations;
  _meta?: JsonObject;
}

export interface TextContent extends Block {
  type: "text";
  text: string;
}

export interface ImageContent extends Block {
  type: "image";
  /** The image in base64. */
  data: string;
  mimeType: string;
}

export interface AudioContent extends Block {
  type: "audio";
  /** The sound in base64. */
  data: string;
  mimeType: string;
}

export interface EmbeddedResource extends Block {
  type: "resource";
  resource: ResourceContents;
}

/** The contents of a resource: `text`, or `blob` in base64. */
export type ResourceContents = { uri: string; mimeType?: string; _meta?: JsonObject } & (
  | { text: string; blob?: never }
  | { blob: string; text?: never }
);

export interface ResourceLink extends Block {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
  icons?: Icon[];
}

export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

/** Hints about what a tool does. They are claims of the server, not guarantees. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** Whether calls of a tool may, must or cannot run as tasks. */
export type TaskSupport = "optional" | "required" | "forbidden";

/** A tool as a server lists it. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: ToolAnnotations;
  /** How it runs; only revision 2025-11-25 says so. */
  execution?: { taskSupport?: TaskSupport };
  icons?: Icon[];
  _meta?: JsonObject;
}

/** One page of a server's tools. */
export interface ToolPage {
  tools: Tool[];
  /** Asks for the next page; absent on the last one. */
  nextCursor?: string;
  _meta?: JsonObject;
}

/** What a tool call gave. A tool that failed gives a result with `isError`, not an exception. */
export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  /** From revision 2026-07-28 on. */
  resultType?: string;
  _meta?: JsonObject;
}

/** A resource as a server lists it. */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** Everything whose URI matches a template of RFC 6570. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: JsonObject;
}

/** Who may keep an answer that may be kept: the one who asked, or everyone. */
export type CacheScope = "private" | "public";

/** An argument of a prompt; its value is a text. */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt as a server lists it. */
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: JsonObject;
}

/** Who speaks. */
export type Role = "user" | "assistant";

/** A message of a prompt. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

/** What can be completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionReference = { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };

/** Suggestions. More than 100 values are cut. */
export interface Completion {
  values: string[];
  /** How many there are in all. */
  total?: number;
  hasMore?: boolean;
}

/** How grave a message to the client is (RFC 5424). */
export type LoggingLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** The lists of a server. */
export type Category = "tools" | "resources" | "resourceTemplates" | "prompts";

/** How far a call has come. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A notification from the peer. */
export interface Notification {
  method: string;
  params: JsonObject;
}

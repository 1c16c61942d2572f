// Constructors of content blocks and messages.
import type { AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceContents, ResourceLink, TextContent } from "./generated/model.js";

type BlockOptions = Omit<TextContent, "type" | "text">;

/** Creates a text block. */
export function text(text: string, options: BlockOptions = {}): TextContent {
  return { type: "text", text, ...options };
}

/** Creates an image block. `data` is the image as bytes or a base64 string. */
export function image(data: string | Uint8Array, mimeType: string, options: BlockOptions = {}): ImageContent {
  return { type: "image", data: base64(data), mimeType, ...options };
}

/** Creates an audio block. `data` is the sound as bytes or a base64 string. */
export function audio(data: string | Uint8Array, mimeType: string, options: BlockOptions = {}): AudioContent {
  return { type: "audio", data: base64(data), mimeType, ...options };
}

/** Creates a resource with its contents: a string becomes text, bytes become a blob. */
export function resource(uri: string, contents: string | Uint8Array, mimeType?: string, options: BlockOptions = {}): EmbeddedResource {
  const about = mimeType === undefined ? { uri } : { uri, mimeType };
  const resource: ResourceContents = typeof contents === "string" ? { ...about, text: contents } : { ...about, blob: base64(contents) };
  return { type: "resource", resource, ...options };
}

/** Creates a link to a resource. */
export function link(uri: string, name: string, options: Omit<ResourceLink, "type" | "uri" | "name"> = {}): ResourceLink {
  return { type: "resource_link", uri, name, ...options };
}

/** Creates a user message, for prompts and sampling. A string becomes a text block. */
export function user(content: string): { role: "user"; content: TextContent };
export function user<C>(content: C): { role: "user"; content: C };
export function user(content: unknown): { role: "user"; content: unknown } {
  return { role: "user", content: typeof content === "string" ? text(content) : content };
}

/** Creates an assistant message, for prompts and sampling. A string becomes a text block. */
export function assistant(content: string): { role: "assistant"; content: TextContent };
export function assistant<C>(content: C): { role: "assistant"; content: C };
export function assistant(content: unknown): { role: "assistant"; content: unknown } {
  return { role: "assistant", content: typeof content === "string" ? text(content) : content };
}

/** The strings that each type of block must have. */
const blockStrings = new Map<unknown, readonly string[]>([
  ["text", ["text"]],
  ["image", ["data", "mimeType"]],
  ["audio", ["data", "mimeType"]],
  ["resource_link", ["uri", "name"]],
]);

/** Returns whether a value is a content block. */
export function isContentBlock(value: unknown): value is ContentBlock {
  if (typeof value !== "object" || value === null) return false;
  const block = value as Record<string, unknown>;
  if (block["type"] === "resource") return typeof block["resource"] === "object" && block["resource"] !== null && "uri" in block["resource"];
  return blockStrings.get(block["type"])?.every((member) => typeof block[member] === "string") ?? false;
}

/** Encodes bytes as base64; a string is returned unchanged. */
export function base64(data: string | Uint8Array): string {
  return typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

// How the page writes values: text of others made harmless to the eye, times, sizes.
import type { Json, JsonObject } from "./generated/protocol";

/** Names and labels are cut here: a name may have a megabyte. */
const BRIEF = 300;

/** Control characters and those that turn the direction of text, which hide what a text says. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Text of the server with hidden characters shown, such as `<U+202E>`. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (one) => (one === "\r" ? "" : `<U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`));
}

export function brief(text: string, most = BRIEF): string {
  return printable(text.length > most ? `${text.slice(0, most)}…` : text);
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/** 24 hours, with milliseconds. */
export const timeOf = (at: number): string => clock.format(at);

export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 999_500 ? [bytes / 1000, "KB"] : [bytes / 1e6, "MB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function msOf(ms: number): string {
  if (ms > 0 && ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export const many = (count: number, word: string): string => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** New in browsers of 2023, and unknown to the types: integers that keep their digits. */
const raw = JSON as JSON & { rawJSON?: (text: string) => number; isRawJSON?: (value: unknown) => boolean };

const keep = (_: string, value: unknown, context?: { source: string }): unknown =>
  typeof value === "number" && context && /^-?\d+$/.test(context.source) && !Number.isSafeInteger(value) ? raw.rawJSON?.(context.source) : value;

/** Reads JSON. Integers that are too large for a number keep all their digits. */
export const exact = (text: string): unknown => JSON.parse(text, raw.rawJSON && /\d{16}/.test(text) ? keep : undefined);

/** The same JSON with numbers only, as a form computes with them. */
export const computable = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && raw.isRawJSON?.(value) !== true;

/** Text as it is, and any other value as JSON. */
export const asText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The first of some members that is text. */
export function textIn(object: JsonObject | null | undefined, ...members: string[]): string | null {
  return members.map((member) => object?.[member]).find((value) => typeof value === "string") ?? null;
}

export const objectIn = (object: JsonObject | null | undefined, member: string): JsonObject | null => {
  const value = object?.[member];
  return isObject(value) ? value : null;
};

export const objectsIn = (object: JsonObject | null | undefined, member: string): JsonObject[] => {
  const value = object?.[member];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

export function save(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The value of JSON text, if it is one. */
export function parsed(text: string): Json | undefined {
  try {
    return exact(text) as Json;
  } catch {
    return undefined;
  }
}

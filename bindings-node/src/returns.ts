// Converts handlers' return values to shapes and bytes for the core.
import { types } from "node:util";

import type { InputRequired } from "./client-requests.js";
import { Shape } from "./generated/waist.js";
import { json, plain } from "./json.js";

/** The answer of a call, for the core. */
export class Answer {
  constructor(
    readonly shape: number,
    readonly body: string,
  ) {}
}

/** How the results of one kind of feature are built from parts. */
export interface Parts {
  /**
   * Returns the part that a value represents, in protocol form, or `undefined` if it is not a part.
   */
  part: (value: unknown) => unknown;
  /** The part for a string among parts. */
  text?: (text: string) => unknown;
  /** The member of a complete result that holds the parts. */
  member: string;
  /** The other members that a complete result may have. An object with any other member is data. */
  others: ReadonlySet<string>;
}

/** Members of every result. */
export const resultMembers = ["_meta", "resultType"] as const;

/** The output schema of a tool; `wrapped` means that it describes a value other than an object. */
export interface Output {
  wrapped: boolean;
}

/** Converts a value to an answer. Throws an {@link UnfitValue} if it has no JSON form. */
export function answerOf(returned: unknown, parts: Parts, output?: Output): Answer {
  const value = plain(returned);
  if (typeof value === "string") return new Answer(Shape.Text, value);
  if (typeof value !== "object" || value === null) return valueOf(value);
  const whole = wholeOf(value, parts, output);
  if (whole) return resultOf(whole);
  const isArray = Array.isArray(value);
  // With an output schema, the value is data, even if it looks like content.
  const content = output ? undefined : isArray ? partsOf(value, parts) : parts.part(value);
  if (content !== undefined && !(isArray && value.length === 0)) return new Answer(Shape.Content, json(content));
  return isArray || output?.wrapped || types.isNativeError(value) ? valueOf(value) : new Answer(Shape.Object, json(value));
}

/**
 * Returns the value if it is a complete result: an object with parts and only members of such a
 * result. With an output schema, `content` alone is data, because a result has more than that.
 */
export function wholeOf(returned: unknown, { member, others, ...parts }: Parts, output?: Output): object | undefined {
  const value = plain(returned);
  if (typeof value !== "object" || value === null || !Object.keys(value).every((key) => key === member || others.has(key))) return undefined;
  if (output && !("structuredContent" in value || "isError" in value)) return undefined;
  const members = (value as Record<string, unknown>)[member];
  const found = Array.isArray(members) ? partsOf(members, parts) : undefined;
  return found && { ...value, [member]: found };
}

/** Any JSON value; `undefined` becomes null. */
export function valueOf(value: unknown): Answer {
  return new Answer(Shape.Value, json(value ?? null));
}

/** A complete result. */
export function resultOf(result: object): Answer {
  return new Answer(Shape.Result, json(result));
}

export function inputOf({ inputRequests, state }: InputRequired): Answer {
  return new Answer(Shape.Input, json({ inputRequests, state }));
}

/**
 * An {@link UnfitValue} with the name of the feature. Only the message is useful, because the stack
 * is in this package.
 */
export class InvalidReturn extends TypeError {}

/**
 * Returns the parts of an array, and of strings among them if those are parts too; `undefined` if
 * it is data.
 */
function partsOf(values: readonly unknown[], { part, text }: Pick<Parts, "part" | "text">): unknown[] | undefined {
  const found = values.map(part);
  if (!found.includes(undefined)) return found;
  if (!text || found.every((one) => one === undefined)) return undefined;
  const mixed = values.map((value, index) => (typeof value === "string" ? text(value) : found[index]));
  return mixed.includes(undefined) ? undefined : mixed;
}

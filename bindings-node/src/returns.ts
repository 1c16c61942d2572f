// Return mapping: the value of a handler as a shape and its bytes for the core.
import { types } from "node:util";

import type { InputRequired } from "./client-requests.js";
import { Shape } from "./generated/waist.js";
import { json, plain } from "./json.js";

/** A shape and its bytes. */
export type Answer = [shape: number, body: string];

/** The parts that the results of one kind of feature have. */
export interface Parts {
  /** Returns the part that a value stands for, as on the wire, or `undefined` if none. */
  part: (value: unknown) => unknown;
  /** The part for a string beside parts. */
  text?: (text: string) => unknown;
  /** The member of a whole result that holds the parts. */
  member: string;
  /** The other members that a whole result may have. An object with any further member is data. */
  beside: ReadonlySet<string>;
}

/** Members of every result. */
export const resultMembers = ["_meta", "resultType"] as const;

/**
 * Maps a value to an answer. An {@link UnfitValue} if it has no JSON form. `wrapped`: the output
 * schema of the tool describes a value other than an object.
 */
export function answerOf(returned: unknown, parts: Parts, wrapped = false): Answer {
  const value = plain(returned);
  if (typeof value === "string") return [Shape.Text, value];
  if (typeof value !== "object" || value === null) return valueOf(value);
  const single = parts.part(value);
  if (single !== undefined) return [Shape.Content, json(single)];
  if (Array.isArray(value)) {
    const content = partsOf(value, parts);
    return content && value.length > 0 ? [Shape.Content, json(content)] : valueOf(value);
  }
  const whole = wholeOf(value, parts);
  if (whole) return [Shape.Result, json(whole)];
  return wrapped || types.isNativeError(value) ? valueOf(value) : [Shape.Object, json(value)];
}

/** The value as a whole result: an object with parts and only members that such a result has. */
export function wholeOf(returned: unknown, { member, beside, ...parts }: Parts): object | undefined {
  const value = plain(returned);
  if (typeof value !== "object" || value === null || !Object.keys(value).every((key) => key === member || beside.has(key))) return undefined;
  const members = (value as Record<string, unknown>)[member];
  const found = Array.isArray(members) ? partsOf(members, parts) : undefined;
  return found && { ...value, [member]: found };
}

/** Any JSON value; `undefined` becomes null. */
export function valueOf(value: unknown): Answer {
  return [Shape.Value, json(value ?? null)];
}

/** A whole result. */
export function resultOf(result: object): Answer {
  return [Shape.Result, json(result)];
}

export function inputOf({ inputRequests, state }: InputRequired): Answer {
  return [Shape.Input, json({ inputRequests, state })];
}

/**
 * An {@link UnfitValue} with the name of the feature. The message says all: the stack is the
 * package's own.
 */
export class InvalidReturn extends TypeError {}

/** The parts of an array; with strings among them, where those are parts too. `undefined`: data. */
function partsOf(values: readonly unknown[], { part, text }: Pick<Parts, "part" | "text">): unknown[] | undefined {
  const found = values.map(part);
  if (!found.includes(undefined)) return found;
  if (!text || found.every((one) => one === undefined)) return undefined;
  const mixed = values.map((value, index) => (typeof value === "string" ? text(value) : found[index]));
  return mixed.includes(undefined) ? undefined : mixed;
}

// Return mapping: the value of a handler as a shape and its bytes for the core.
import type { InputRequired } from "./client-requests.js";
import { Shape } from "./generated/waist.js";

/** A shape and its bytes. */
export type Answer = [shape: number, body: string];

/** The parts that the results of one kind of feature have. */
export interface Parts {
  /** Returns the part that a value stands for, as on the wire, or `undefined` if none. */
  part: (value: unknown) => unknown;
  /** The member of a whole result that holds the parts. */
  member: string;
  /** The other members that a whole result may have. An object with any further member is data. */
  beside: ReadonlySet<string>;
}

/** Members of every result. */
export const resultMembers = ["_meta", "resultType"] as const;

/**
 * Maps a value to an answer. A TypeError if it has no JSON form. `wrapped`: the output schema of
 * the tool describes a value other than an object.
 */
export function answerOf(returned: unknown, parts: Parts, wrapped = false): Answer {
  const value = plain(returned);
  if (typeof value === "string") return [Shape.Text, value];
  if (typeof value !== "object" || value === null) return valueOf(value);
  const single = parts.part(value);
  if (single !== undefined) return [Shape.Content, json(single)];
  if (Array.isArray(value)) {
    const content = partsOf(value, parts.part);
    return content && value.length > 0 ? [Shape.Content, json(content)] : valueOf(value);
  }
  const whole = wholeOf(value, parts);
  if (whole) return [Shape.Result, json(whole)];
  return returned instanceof Map || wrapped ? valueOf(value) : [Shape.Object, json(value)];
}

/** The value as a whole result: an object with parts and only members that such a result has. */
export function wholeOf(returned: unknown, { part, member, beside }: Parts): object | undefined {
  const value = plain(returned);
  if (typeof value !== "object" || value === null || !Object.keys(value).every((key) => key === member || beside.has(key))) return undefined;
  const members = (value as Record<string, unknown>)[member];
  const parts = Array.isArray(members) ? partsOf(members, part) : undefined;
  return parts && { ...value, [member]: parts };
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

function partsOf(values: readonly unknown[], part: Parts["part"]): unknown[] | undefined {
  const parts = values.map(part);
  return parts.includes(undefined) ? undefined : parts;
}

/** The plain form of a value: the result of its `toJSON`, or the entries of a Map. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (value instanceof Map) return Object.fromEntries(value);
  return "toJSON" in value && typeof value.toJSON === "function" ? (value.toJSON as (key: string) => unknown)("") : value;
}

function json(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a handler returned a ${typeof value}, which has no JSON form`);
  return text;
}

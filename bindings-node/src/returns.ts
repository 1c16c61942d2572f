// What a handler returned, as a shape and the bytes of that shape. The core turns it into a result.
import type { InputRequired } from "./input.js";

/** The shapes of answers, by the numbers of the contract. */
export const Shape = { Text: 0, Content: 1, Object: 2, Value: 3, Result: 4, Input: 5 } as const;

/** A shape and its bytes. */
export type Answer = [shape: number, body: string];

/** What the results of a kind of thing are made of. */
export interface Parts {
  /** The part that a value is, in the form of the wire; `undefined`: it is none. */
  part: (value: unknown) => unknown;
  /** The member of a whole result that holds them, */
  member: string;
  /** and the others that it may have. An object with any other member is data. */
  beside: ReadonlySet<string>;
}

/** What every result may have. */
export const resultMembers = ["_meta", "resultType"] as const;

/** Throws a TypeError if the value cannot be JSON. `wrapped`: the tool's output schema describes a value that is not an object. */
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

/** The value as a whole result, if it is one: it has the parts, and nothing that such a result has not. */
export function wholeOf(returned: unknown, { part, member, beside }: Parts): object | undefined {
  const value = plain(returned);
  if (typeof value !== "object" || value === null || !Object.keys(value).every((key) => key === member || beside.has(key))) return undefined;
  const members = (value as Record<string, unknown>)[member];
  const parts = Array.isArray(members) ? partsOf(members, part) : undefined;
  return parts && { ...value, [member]: parts };
}

/** Any JSON value; what is not there is null. */
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

/** What stands for the value in JSON: objects may say so themselves, and a Map, unlike in plain JSON.stringify, keeps its entries. */
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

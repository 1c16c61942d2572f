// Return mapping: the value of a handler as a shape and its bytes for the core.
import { types } from "node:util";

import type { InputRequired } from "./client-requests.js";
import { Shape } from "./generated/waist.js";

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

/** A returned value that cannot be sent; the message names the place in it. */
export class UnfitValue extends TypeError {}

/** The same with the name of the feature. The message says all: the stack is the package's own. */
export class InvalidReturn extends TypeError {}

/** The parts of an array; with strings among them, where those are parts too. `undefined`: data. */
function partsOf(values: readonly unknown[], { part, text }: Pick<Parts, "part" | "text">): unknown[] | undefined {
  const found = values.map(part);
  if (!found.includes(undefined)) return found;
  if (!text || found.every((one) => one === undefined)) return undefined;
  const mixed = values.map((value, index) => (typeof value === "string" ? text(value) : found[index]));
  return mixed.includes(undefined) ? undefined : mixed;
}

/** The plain form: the result of its `toJSON`, the entries of a Map, the items of a Set. */
function plain(value: unknown, key = ""): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...(value as Set<unknown>)];
  return "toJSON" in value && typeof value.toJSON === "function" ? (value.toJSON as (key: string) => unknown)(key) : value;
}

/** JSON may have lost something where it has one of these: NaN is null, and a Set `{}`. */
const suspicious = /null|\{\}|"0":|"Buffer"/;

function json(value: unknown): string {
  let text: string | undefined;
  try {
    text = types.isNativeError(value) ? undefined : JSON.stringify(value);
  } catch {
    text = undefined; // it names no place
  }
  return text === undefined || (suspicious.test(text) && isLossy(value)) ? JSON.stringify(kept(value, "$", [])) : text;
}

/** True if JSON loses something of the value, which has no cycles. */
function isLossy(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(isLossy);
  if ("toJSON" in value) return ArrayBuffer.isView(value);
  return kindOf(value) !== "Object" || Object.values(value).some(isLossy);
}

function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The value, with what JSON would lose kept or refused. */
function kept(given: unknown, place: string, within: readonly unknown[], key = ""): unknown {
  const value = plain(given, key);
  const refuse = (what: string, remedy: string): UnfitValue => new UnfitValue(`${place}: ${what} has no JSON form: ${remedy}`);
  if (typeof value === "number" && !Number.isFinite(value)) throw refuse(String(value), "return null or a string");
  if (typeof value === "bigint") throw refuse("a bigint", "return a number or a string");
  if ((typeof value === "function" || typeof value === "symbol") && within.length === 0) throw refuse(`a ${typeof value}`, "return data");
  if (typeof value !== "object" || value === null) return value;
  if (within.includes(value)) throw new UnfitValue(`${place}: a circular reference has no JSON form`);
  const kind = kindOf(value);
  if (types.isNativeError(value)) throw refuse(`an ${value.name}`, "throw it");
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) throw refuse(kind === "Uint8Array" ? "bytes" : kind, "image(bytes, type), audio(bytes, type) and resource(uri, bytes) make content of bytes");
  if (Array.isArray(value)) return value.map((item, index) => kept(item, `${place}[${String(index)}]`, [...within, value], String(index)));
  if (types.isBoxedPrimitive(value)) return value;
  if (kind !== "Object") throw refuse(`a ${kind}`, kind.endsWith("Generator") ? "return an array" : kind === "Promise" ? "await it" : "return what is in it");
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, kept(member, `${place}.${name}`, [...within, value], name)]));
}

// Encodes values as JSON. Maps and sets are converted; other values without a JSON form are
// rejected.
import { types } from "node:util";

import { invalid } from "./errors.js";

/** A value without a JSON form; the message names its path. */
export class UnfitValue extends TypeError {
  readonly fault: string = "cannot be sent";
}

/** A value that its output schema rejects. */
export class UnfitOutput extends UnfitValue {
  override readonly fault = "does not match its output schema";
}

/** A function as a member of an object. */
export class UnfitFunction extends UnfitValue {
  constructor(
    message: string,
    readonly member: string,
  ) {
    super(message);
  }
}

/**
 * The origin of a value: returned by a handler, or passed to a function of the package, which
 * rejects functions and symbols also as members of objects. JSON omits such members.
 */
type Origin = "returned" | "passed";

/** Encodes a value as JSON. Throws an {@link UnfitValue} if it cannot be represented in JSON. */
export function json(value: unknown, origin: Origin = "returned"): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // The error names no path.
  }
  return text === undefined || isLossy(value, origin) ? JSON.stringify(converted(value, origin, "$", [])) : text;
}

/** Encodes a message to the core as JSON. `what` names it in the error if that fails. */
export function stringify(value: object, what: string): string {
  try {
    return json(value, "passed");
  } catch (error) {
    throw invalid(`${what} cannot be written as JSON: ${(error as Error).message}`, error);
  }
}

/** The JSON of values that were read from it, if numbers in it may have been rounded. */
const exact = new WeakMap<object, string>();

/** Reads JSON, and keeps it for {@link exactJson} if a number has more digits than a double. */
export function keepExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && /\d{16}/.test(text)) exact.set(value, text);
  return value;
}

/** Returns the JSON that the value was read from, unless the value has changed. */
export function exactJson(value: object): string | undefined {
  const text = exact.get(value);
  return text !== undefined && JSON.stringify(JSON.parse(text)) === JSON.stringify(value) ? text : undefined;
}

/**
 * Returns the plain form of a value: the result of its `toJSON`, the entries of a Map, the items of
 * a Set, or the value in a boxed primitive.
 */
export function plain(value: unknown, key = ""): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...(value as Set<unknown>)];
  if (types.isBoxedPrimitive(value)) return value.valueOf();
  return "toJSON" in value && typeof value.toJSON === "function" && !isInvalidDate(value) ? (value.toJSON as (key: string) => unknown)(key) : value;
}

/** Returns whether JSON loses part of the value, which has no cycles. */
function isLossy(value: unknown, origin: Origin): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value === "function" || typeof value === "symbol") return origin === "passed";
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => isLossy(item, origin));
  if ("toJSON" in value) {
    const form = plain(value);
    return ArrayBuffer.isView(value) || isInvalidDate(value) || (form !== value && isLossy(form, origin));
  }
  // Most objects are plain, which is quick to check.
  if (Object.getPrototypeOf(value) !== Object.prototype && kindOf(value) !== "Object") return true;
  return Object.values(value).some((member) => isLossy(member, origin));
}

function isInvalidDate(value: object): boolean {
  return value instanceof Date && Number.isNaN(value.getTime());
}

function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Returns the value, converting or rejecting what JSON would lose. */
function converted(original: unknown, origin: Origin, place: string, within: readonly unknown[], key = ""): unknown {
  const value = plain(original, key);
  const isPassed = origin === "passed";
  const words = (what: string, remedy: string): string => `${place}: ${what} cannot be represented in JSON: ${remedy}`;
  const verb = isPassed ? "give" : "return";
  if (typeof value === "number" && !Number.isFinite(value)) throw new UnfitValue(words(String(value), isPassed ? "give a finite number" : "return null or a string"));
  if (original instanceof Map && [...(original as Map<unknown, unknown>).keys()].some((name) => typeof name === "object")) throw new UnfitValue(words("a Map with objects as keys", "use strings"));
  if (typeof value === "bigint") throw new UnfitValue(words("a bigint", `${verb} a number or a string`));
  if (typeof value === "function" || typeof value === "symbol") {
    const message = words(`a ${typeof value}`, `${verb} data`);
    if (isPassed && typeof value === "function") throw new UnfitFunction(message, key);
    if (isPassed || within.length === 0) throw new UnfitValue(message);
  }
  if (typeof value !== "object" || value === null) return value;
  if (within.includes(value)) throw new UnfitValue(`${place}: a circular reference cannot be represented in JSON`);
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((item, index) => converted(item, origin, `${place}[${String(index)}]`, inside, String(index)));
  const kind = kindOf(value);
  if (types.isNativeError(value)) throw new UnfitValue(words(withArticle(value.name), isPassed ? "give its message" : "throw it"));
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    const remedy = isPassed ? "give a string, such as Base64" : "use image(bytes, type), audio(bytes, type) or resource(uri, bytes)";
    throw new UnfitValue(kind === "Uint8Array" ? words("bytes", remedy) : words(withArticle(kind), remedy));
  }
  if (isInvalidDate(value)) throw new UnfitValue(words("an invalid Date", `${verb} null or a string`));
  if (kind !== "Object") throw new UnfitValue(words(withArticle(kind), kind.endsWith("Generator") ? `${verb} an array` : kind === "Promise" ? "await it" : `${verb} its contents`));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, converted(member, origin, `${place}.${name}`, inside, name)]));
}

function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

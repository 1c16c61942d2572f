// Validation by schema libraries, after the core's. It may be asynchronous, and applies defaults
// and transforms.
import type { JsonObject } from "../generated/model.js";
import { issueOf, type Validate } from "./convert.js";
import type { StandardSchemaV1 } from "./standard-schema.js";

/** Arguments that a library's own checks refuse. */
export class InvalidArguments extends Error {
  /** A JSON pointer; empty if the message names the place. */
  readonly path: string;

  constructor(issues: readonly StandardSchemaV1.Issue[], start = "") {
    const { path, message } = issueOf(issues);
    super(start === "" ? message : `${start}${path === "" ? "" : `${path}: `}${message}`);
    this.path = start === "" ? path : "";
  }
}

/**
 * Passes the validated value to `next`. Invalid values throw {@link InvalidArguments}, whose
 * message begins with `start`.
 */
export function validated<T>(validate: Validate | undefined, value: unknown, next: (value: never) => T, start?: string): T | Promise<T> {
  if (!validate) return next(value as never);
  const take = (result: StandardSchemaV1.Result<unknown>): T => {
    if (result.issues) throw new InvalidArguments(result.issues, start);
    return next(result.value as never);
  };
  const result = validate(value);
  return isPromise(result) ? result.then(take) : take(result);
}

/**
 * Judges arguments that the core refuses, which the library may convert first: true if it accepts
 * them, and none has a name beside `properties`. Throws the library's words where they tell more.
 */
export async function explain(validate: Validate, properties: JsonObject | undefined, args: object): Promise<boolean> {
  const { issues } = await validate(args);
  if (!issues) return properties === undefined || Object.keys(args).every((name) => Object.hasOwn(properties, name));
  // All that zod tells of a union; the core explains the member that was meant.
  const telling = issues.filter(({ message }) => message !== "Invalid input");
  if (telling.length > 0) throw new InvalidArguments(telling);
  return false;
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

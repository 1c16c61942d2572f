// Validation by schema libraries, after the core's. It may be asynchronous, and applies defaults
// and transforms.
import type { JsonObject } from "../generated/model.js";
import { issueOf, type Validate } from "./convert.js";
import type { StandardSchemaV1 } from "./standard-schema.js";

export type Issues = readonly StandardSchemaV1.Issue[];

/** Arguments that a library's own checks reject. */
export class InvalidArguments extends Error {
  /** A JSON pointer; empty if the message contains the path. */
  readonly path: string;

  constructor(issues: Issues, start = "") {
    const { path, message } = issueOf(issues);
    super(start === "" ? message : `${start}${path === "" ? "" : `${path}: `}${message}`);
    this.path = start === "" ? path : "";
  }
}

/** Passes the validated value to `next`. For an invalid value, throws the error for its issues. */
export function validated<T>(validate: Validate | undefined, value: unknown, next: (value: never) => T, refusal: (issues: Issues) => Error = (issues) => new InvalidArguments(issues)): T | Promise<T> {
  if (!validate) return next(value as never);
  const take = (result: StandardSchemaV1.Result<unknown>): T => {
    if (result.issues) throw refusal(result.issues);
    return next(result.value as never);
  };
  const result = validate(value);
  return isPromise(result) ? result.then(take) : take(result);
}

/** Returns a handler that gets validated arguments. */
export function validating<C>(validate: Validate | undefined, handler: (args: never, context: C) => unknown, refusal?: (issues: Issues) => Error): typeof handler {
  return validate ? (args, context) => validated(validate, args, (args) => handler(args, context), refusal) : handler;
}

/** Returns the issues of a validation as one text, which begins with a JSON pointer. */
export function placed(issues: Issues): string {
  const { path, message } = issueOf(issues);
  return `${path === "" ? "/" : path}: ${message}`;
}

/**
 * Checks arguments that the core rejected but the library may convert first. Returns true if the
 * library accepts them and none has a name outside `properties`. Throws the library's explanation
 * if it is more specific.
 */
export async function explain(validate: Validate, properties: JsonObject | undefined, args: object): Promise<boolean> {
  const { issues } = await validate(args);
  if (!issues) return properties === undefined || Object.keys(args).every((name) => Object.hasOwn(properties, name));
  // For a union, zod reports nothing more; the core explains the member that was meant.
  const telling = issues.filter(({ message }) => message !== "Invalid input");
  if (telling.length > 0) throw new InvalidArguments(telling);
  return false;
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

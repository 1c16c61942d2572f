// Validation by schema libraries, after the core's. It may be asynchronous, and applies defaults
// and transforms.
import { issueOf, type Validate } from "./convert.js";
import type { StandardSchemaV1 } from "./standard-schema.js";

/** Arguments that are valid against the JSON Schema but not against the library's own checks. */
export class InvalidArguments extends Error {
  readonly path: string;

  constructor(issues: readonly StandardSchemaV1.Issue[]) {
    const { path, message } = issueOf(issues);
    super(message);
    this.path = path;
  }
}

/** Passes the validated value to `next`. Invalid values throw {@link InvalidArguments}. */
export function validated<T>(validate: Validate | undefined, value: unknown, next: (value: never) => T): T | Promise<T> {
  if (!validate) return next(value as never);
  const take = (result: StandardSchemaV1.Result<unknown>): T => {
    if (result.issues) throw new InvalidArguments(result.issues);
    return next(result.value as never);
  };
  const result = validate(value);
  return isPromise(result) ? result.then(take) : take(result);
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

// Recognizes what handlers throw and return with another copy of this package, as plugins may have.
import type { TokenError } from "./auth.js";
import type { InputRequired } from "./client-requests.js";
import type { StoreError, ToolError } from "./errors.js";
import type { ProtocolError } from "./generated/errors.js";

interface Classes {
  InputRequired: InputRequired;
  ProtocolError: ProtocolError;
  StoreError: StoreError;
  TokenError: TokenError;
  ToolError: ToolError;
}

/**
 * The member with the name of the class, the same in all copies. Each class defines it itself: the
 * bundle of a plugin contains the classes that it throws, but not this module.
 */
const brand = Symbol.for("trunkline.class");

/** Returns whether a value is an object of the class with this name, in any copy of the package. */
export function isOne<N extends keyof Classes>(name: N, value: unknown): value is Classes[N] {
  return (value as { [brand]?: unknown } | null | undefined)?.[brand] === name;
}

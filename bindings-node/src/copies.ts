// Recognizes what handlers throw and return with another copy of this package, as plugins may have.
import { TokenError } from "./auth.js";
import { InputRequired } from "./client-requests.js";
import { StoreError, ToolError } from "./errors.js";
import { ProtocolError } from "./generated/errors.js";

const classes = { InputRequired, ProtocolError, StoreError, TokenError, ToolError };
/** The member with the name of the class, the same in all copies. */
const brand = Symbol.for("trunkline.class");
for (const [value, { prototype }] of Object.entries(classes)) Object.defineProperty(prototype, brand, { value });

/** Returns whether a value is an object of the class with this name, in any copy of the package. */
export function isOne<N extends keyof typeof classes>(name: N, value: unknown): value is InstanceType<(typeof classes)[N]> {
  return (value as { [brand]?: unknown } | null | undefined)?.[brand] === name;
}

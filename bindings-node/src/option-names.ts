// Checks the names of options that this package reads itself. Errors use the core's wording,
// because the core checks all other options.
import { inspect } from "node:util";

import { invalid } from "./errors.js";
import type { InvalidArgumentError } from "./generated/errors.js";
import { stringify, UnfitFunction } from "./json.js";
import { native } from "./native/native.js";

/** Throws for options that are no object: another value would count as no options. */
export function checkObject(options: unknown): void {
  if (typeof options !== "object" || options === null) throw invalid(`options must be an object, not ${inspect(options)}`);
}

/** Throws for unknown options. */
export function checkNames(options: object, known: readonly string[]): void {
  checkObject(options);
  for (const [name, value] of Object.entries(options)) if (value !== undefined && !known.includes(name)) throw unknownOption(name, known);
}

/**
 * Encodes options for the core. `hooks` are the names of options that are functions and stay here;
 * a function under another name was probably meant for one of them.
 */
export function stringifyOptions(options: object, what: string, hooks: readonly string[]): string {
  try {
    return stringify(options, what);
  } catch (error) {
    const { cause } = error as InvalidArgumentError;
    const isHook = cause instanceof UnfitFunction && (/^on[A-Z]/.test(cause.member) || nearest(cause.member, hooks) !== undefined);
    throw isHook ? unknownOption(cause.member, hooks) : error;
  }
}

/**
 * Calls the core with options. Its error for an unknown one only knows its own names: `taken` are
 * those that this package takes out of the same object.
 */
export function suggesting<T>(taken: readonly string[], call: () => T): T {
  try {
    return call();
  } catch (error) {
    const [, name, list] = /^unknown option `(.+?)`: valid options are (.*)$/.exec((error as Error).message) ?? [];
    if (name === undefined || list === undefined) throw error;
    throw unknownOption(name, [...taken, ...list.replaceAll("`", "").split(", ")]);
  }
}

/** Creates the error for an option that is none of the known ones. */
export function unknownOption(name: string, known: readonly string[]): InvalidArgumentError {
  const meant = nearest(name, known);
  const remedy = meant === undefined ? `valid options are ${known.map((name) => `\`${name}\``).join(", ")}` : `did you mean \`${meant}\`?`;
  return invalid(`unknown option \`${name}\`: ${remedy}`);
}

/** Many names begin with a shorter one. */
const maxShortName = 5;

/** Returns the name that was probably meant by a misspelt one. */
function nearest(name: string, known: readonly string[]): string | undefined {
  return native().nearest(name, known) ?? known.find((known) => known.length > maxShortName && name.startsWith(known));
}

// Checks the names of options that this package reads itself. Errors use the core's wording,
// because the core checks all other options.
import { inspect } from "node:util";

import { invalid } from "./errors.js";
import type { InvalidArgumentError } from "./generated/errors.js";
import { stringify, UnfitFunction } from "./json.js";

/** Throws for unknown options. */
export function checkNames(options: object, known: readonly string[]): void {
  if (typeof (options as unknown) !== "object" || (options as unknown) === null) throw invalid(`options must be an object, not ${inspect(options)}`);
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

function unknownOption(name: string, known: readonly string[]): InvalidArgumentError {
  const meant = nearest(name, known);
  const remedy = meant === undefined ? `valid options are ${known.map((name) => `\`${name}\``).join(", ")}` : `did you mean \`${meant}\`?`;
  return invalid(`unknown option \`${name}\`: ${remedy}`);
}

/** Shorter names resemble many others, so they may differ in fewer letters. */
const short = 5;

/** Returns the name that was probably meant by a misspelt one. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const mostSlips = name.length < short ? 1 : 2;
  const [[distance, meant] = [Infinity, undefined]] = known.map((known) => [slips(known, name), known] as const).sort(([one], [other]) => one - other);
  return distance <= mostSlips ? meant : known.find((known) => known.length > short && name.startsWith(known));
}

/**
 * Returns the number of letters to insert, delete or replace (Levenshtein distance), ignoring case.
 */
function slips(known: string, given: string): number {
  const [one, other] = [known.toLowerCase(), given.toLowerCase()];
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1];
    for (let column = 0; column < other.length; column++) {
      const changed = (row[column] ?? 0) + (one[index] === other[column] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

// Times, which the core takes as whole milliseconds.
import { inspect } from "node:util";

import { invalid } from "./errors.js";

/** A time of the user as the core takes it: whole, rounded up; what is longer than any time is the longest. `name` names it in the error. */
export function milliseconds(value: number, name: string): number;
export function milliseconds(value: number | undefined, name: string): number | undefined;
export function milliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0) return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
  throw invalid(`${name} must be a number of milliseconds from 0 on (Infinity: as long as possible), not ${inspect(value)}`);
}

/** The longest time of a timer of Node, which takes longer ones for none. */
const longestTimer = 2 ** 31 - 1;

/** Fulfilled with the work, or when the time is over. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestTimer));
  });
  try {
    await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

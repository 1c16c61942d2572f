// Times. The core takes whole milliseconds.
import { inspect } from "node:util";

import { invalid } from "./errors.js";
import { checkNames } from "./option-names.js";

/** A later turn of the event loop, also where a test has put fakes in the place of the timers. */
export const nextTurn = setImmediate;

/** Rounds a time up to whole milliseconds that a double holds exactly. `name` is for the error. */
export function milliseconds(value: number, name: string): number;
export function milliseconds(value: number | undefined, name: string): number | undefined;
export function milliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0) return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
  throw invalid(`${name} must be a number of milliseconds from 0 on (Infinity: as long as possible), not ${inspect(value)}`);
}

/** The option of what closes something, in whole milliseconds. */
export function deadlineOf(options: { deadline?: number | undefined }): number | undefined {
  checkNames(options, ["deadline"]);
  return milliseconds(options.deadline, "deadline");
}

/** Options in the words of the contract, where times are whole milliseconds and end in `Ms`. */
export function inMilliseconds(options: object, times: readonly string[]): Record<string, unknown> {
  const json: Record<string, unknown> = { ...options };
  for (const name of times) {
    json[`${name}Ms`] = milliseconds(json[name] as number | undefined, name);
    json[name] = undefined;
  }
  return json;
}

/** Longest time of a Node timer. A timer with a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;

/** Fulfilled when the work is done or the time is over. */
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

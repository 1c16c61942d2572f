// Times. The core takes whole milliseconds.
import timers from "node:timers";
import { inspect } from "node:util";

import { invalid } from "./errors.js";
import { checkNames, unknownOption } from "./option-names.js";

/**
 * Schedules a later turn of the event loop, even if a test has replaced the timers with fakes. It
 * is no global in Jest with jsdom.
 */
export const nextTurn = timers.setImmediate;

/**
 * Rounds a time up to whole milliseconds that a double represents exactly. `name` is for the error.
 */
export function milliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0) return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
  throw invalid(`${name} must be a number of milliseconds, 0 or more (Infinity for the maximum), not ${inspect(value)}`);
}

/** Returns the `deadline` option of a close, in whole milliseconds. */
export function deadlineOf(options: { deadline?: number | undefined }): number | undefined {
  checkNames(options, ["deadline"]);
  return milliseconds(options.deadline, "deadline");
}

/** Renames options for the core, where times are whole milliseconds and their names end in `Ms`. */
export function inMilliseconds(options: object, times: readonly string[]): Record<string, unknown> {
  const json: Record<string, unknown> = { ...options };
  for (const name of times) {
    if (json[`${name}Ms`] !== undefined) throw unknownOption(`${name}Ms`, [name]);
    json[`${name}Ms`] = milliseconds(json[name], name);
    json[name] = undefined;
  }
  return json;
}

/** A timer of Node with a longer time fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

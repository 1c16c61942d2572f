// The core's log records.
import { isMainThread } from "node:worker_threads";

import { describe } from "./errors.js";
import type { JsonObject, LogLevel } from "./generated/model.js";
import { native } from "./native/native.js";
import { isPromise } from "./schema/validate.js";

/** A record of the library's log. */
export interface LogRecord {
  /** The level. */
  level: LogLevel;
  /** The message with the fields, for people, on one or more lines. */
  message: string;
  /** The subject, such as `trunkline::server::http` or `trunkline::access`. */
  target: string;
  /** The message without the fields, for loggers that have some. */
  event: string;
  /** The fields, such as `tool`, `method`, `server` and `error`. */
  fields: JsonObject;
  /** The value that a handler threw, if the record is about that. */
  error?: unknown;
}

/** Receives the records of the library's log. */
export type Logger = (record: LogRecord) => void;

const toStderr: Logger = ({ level, message, target }) => {
  if (level === "error" || level === "warn") writeStderr(`[${target}] ${level}: ${message}\n`);
};

/**
 * Writes to stderr. A Node.js stream would buffer everything that is not read, and keep the process
 * alive for as long. But the stderr of a worker belongs to its parent, which reads it.
 */
export function writeStderr(text: string): void {
  if (isMainThread) native().writeStderr(text);
  else process.stderr.write(text);
}

let logger = toStderr;

/** Sets the logger of this thread. The default logger writes warnings and errors to stderr. */
export function setLogger(other?: Logger): void {
  logger = other ?? toStderr;
}

/** Logs records. If the logger throws, neither other records nor the caller are affected. */
export function log(records: readonly LogRecord[]): void {
  for (const record of records) {
    contained(logger, [record], (error) => {
      toStderr(record);
      writeStderr(`[trunkline] error: the logger failed: ${describe(error)}\n`);
    });
  }
}

/** A failure for the log. */
interface LoggedFailure {
  /** The reason. */
  detail: string;
  /** The value that a function of the program threw, if that is the reason. */
  error?: unknown;
  target?: string | undefined;
  /** The message without the fields, if it has others than the reason. */
  event?: string;
  fields?: JsonObject;
}

/** Logs a failure. */
export function logError(what: string, { detail, error, target = "trunkline", event = what, fields }: LoggedFailure): void {
  const message = `${what}: ${detail}`;
  log([{ level: "error", target, message, event, fields: { ...fields, error: detail }, ...(error !== undefined && { error }) }]);
}

/**
 * Calls a function of the program that doesn't answer a call, such as a listener. Exceptions and
 * rejections are logged, and affect neither later events nor the process.
 */
export function callBack<Args extends unknown[]>(what: string, call: (...args: Args) => unknown, args: Args, target = "trunkline"): void {
  contained(call, args, (error) => logError(`${what} failed`, { detail: describe(error), error, target }));
}

function contained<Args extends unknown[]>(call: (...args: Args) => unknown, args: Args, fail: (error: unknown) => void): void {
  try {
    const returned = call(...args);
    if (isPromise(returned)) returned.then(undefined, fail);
  } catch (error) {
    fail(error);
  }
}

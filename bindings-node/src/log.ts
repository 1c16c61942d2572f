// Log records of the core.
import { isMainThread } from "node:worker_threads";

import { describe } from "./errors.js";
import { native } from "./native/native.js";
import { isPromise } from "./schema/validate.js";

/** The levels of records, the gravest first. */
export type LogLevel = "error" | "warn" | "info" | "debug";

/** A record of the library's log. */
export interface LogRecord {
  /** Its level. */
  level: LogLevel;
  /** Its text, on one or several lines. */
  message: string;
  /** The subject, such as `trunkline::server::http` or `trunkline::access`. */
  target: string;
  /** The value that a handler threw, of a record about that. */
  error?: unknown;
}

/** Receives the records of the library's log. */
export type Logger = (record: LogRecord) => void;

const toStderr: Logger = ({ level, message, target }) => {
  if (level === "error" || level === "warn") writeStderr(`[${target}] ${level}: ${message}\n`);
};

/**
 * Writes to stderr. A stream of Node.js would keep everything that is not read, and the process for
 * as long; but the stderr of a worker belongs to its parent, which reads it.
 */
export function writeStderr(text: string): void {
  if (isMainThread) native().writeStderr(text);
  else process.stderr.write(text);
}

let logger = toStderr;

/** Sets the logger of this thread. The default writes warnings and errors to stderr. */
export function setLogger(other?: Logger): void {
  logger = other ?? toStderr;
}

/** Logs records. A logger that fails costs neither the other records nor the caller. */
export function log(records: readonly LogRecord[]): void {
  for (const record of records) {
    contained(logger, [record], (error) => {
      toStderr(record);
      writeStderr(`[trunkline] error: the logger failed: ${describe(error)}\n`);
    });
  }
}

/**
 * Calls a function of the program that answers no call, such as a listener. Exceptions and
 * rejections are logged: they cost neither the events behind it nor the process.
 */
export function callBack<Args extends unknown[]>(what: string, call: (...args: Args) => unknown, args: Args, target = "trunkline"): void {
  contained(call, args, (error) => {
    log([{ level: "error", target, message: `${what} failed: ${describe(error)}`, error }]);
  });
}

function contained<Args extends unknown[]>(call: (...args: Args) => unknown, args: Args, fail: (error: unknown) => void): void {
  try {
    const returned = call(...args);
    if (isPromise(returned)) returned.then(undefined, fail);
  } catch (error) {
    fail(error);
  }
}

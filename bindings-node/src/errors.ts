// The errors of this package, and conversion of the core's errors.
import { setMaxListeners } from "node:events";
import { inspect, types } from "node:util";

import { errorClasses } from "./generated/error-classes.js";
import { CancelledError, InternalError, InvalidArgumentError, ProtocolError, TrunklineError, type ErrorKind } from "./generated/errors.js";
import { home } from "./native/place.js";

/** Thrown by a tool handler to give the caller a result with `isError` and this message. */
export class ToolError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ToolError";
  }
}
Object.defineProperty(ToolError.prototype, Symbol.for("trunkline.class"), { value: "ToolError" });

/**
 * Thrown by a custom store. `kind` is the reason: `unavailable` (the store cannot be reached; any
 * other error means the same), `full`, or `corrupt` (it contains unreadable data).
 */
export class StoreError extends Error {
  constructor(
    message: string,
    /** The reason. */
    readonly kind: "unavailable" | "full" | "corrupt" = "unavailable",
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "StoreError";
  }
}
Object.defineProperty(StoreError.prototype, Symbol.for("trunkline.class"), { value: "StoreError" });

/**
 * Ends a handler whose client request is answered in another run of the handler. Not a
 * TrunklineError, so that code that catches those lets it pass.
 */
export class Suspended extends Error {
  override name = "Suspended";
}

/** The end of the core's message, before that of what a lifespan threw. */
export const unopened = "the lifespan of the server could not be opened: ";

/**
 * The latest values thrown by credential functions and lifespans, by the ends of the messages of
 * the errors that result from them.
 */
const causes: { end: string; thrown: unknown }[] = [];
const maxCauses = 8;

/**
 * Keeps a value thrown by a callback as the cause of errors whose message ends with `end`. The core
 * only passes on strings.
 */
export function keepCause(end: string, thrown: unknown): void {
  causes.unshift({ end, thrown });
  causes.length = Math.min(causes.length, maxCauses);
}

/** The messages of errors received from a peer, which are passed on without the code. */
const messages = new WeakMap<ProtocolError, string>();

/** More frames than this package has between a call by the program and any error. */
const ownFrames = 20;

/** Creates an error whose stack includes the program's frames, however deep this package is. */
function withCaller<E extends Error>(create: () => E): E {
  const limit: unknown = Error.stackTraceLimit;
  if (typeof limit !== "number" || Object.isFrozen(Error)) return create();
  Error.stackTraceLimit = limit + ownFrames;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/**
 * Creates the error for an error object of the core. `kind` applies if `body` is any other string.
 */
export function errorOf(body: string, kind: unknown = "internal"): TrunklineError {
  let fields: { kind?: ErrorKind; message?: string; code?: number; data?: unknown };
  try {
    fields = JSON.parse(body) as typeof fields;
  } catch {
    // A native panic, or an argument that never reached the core, is a plain string.
    fields = { kind: kind as ErrorKind, message: body };
  }
  const { kind: named = "internal", message = body, code, data } = fields;
  if (named === "protocol") {
    const error = withCaller(() => (code === undefined ? new ProtocolError(message, { data }) : new ProtocolError(`${message} (${code})`, { code, data })));
    messages.set(error, message);
    return error;
  }
  const cause = named === "authorizationRequired" || message.includes(unopened) ? causes.find(({ end }) => message.endsWith(end)) : undefined;
  const ErrorClass = Object.hasOwn(errorClasses, named) ? errorClasses[named] : InternalError;
  return withCaller(() => new ErrorClass(message, { data, ...(cause && { cause: cause.thrown }) }));
}

/** Returns the message of an error for the caller of the handler that threw it. */
export function messageOf(error: ProtocolError): string {
  return messages.get(error) ?? error.message;
}

/** Converts an error of the native library to one of this package. */
export function thrownBy(error: unknown): TrunklineError | Suspended {
  if (error instanceof TrunklineError) return error;
  // Errors of the native library are of another realm if the program runs in a context, as in Jest.
  if (!isError(error)) return errorOf(String(error));
  const { code } = error as { code?: unknown };
  if (code === "suspended") return new Suspended(errorOf(error.message).message);
  // The code is a kind, or a Node-API code for an argument of the wrong type.
  return errorOf(error.message, typeof code === "string" && /Expected$|^InvalidArg$/.test(code) ? "invalidArgument" : code);
}

/** Creates the error of a request that the caller's signal cancelled. */
export function aborted(signal: AbortSignal): CancelledError {
  return new CancelledError("cancelled by the caller's signal", { cause: signal.reason });
}

/**
 * Returns the file and line of the program that called the package, as in ` (server.mjs:12)`; empty
 * if unknown, for example in a bundle of both.
 */
export function callerPlace(): string {
  const inside = home;
  if (inside === undefined) return "";
  const [, ...frames] = (new Error().stack ?? "").split("\n");
  const outside = frames.find((frame) => !frame.includes(inside));
  const place = outside && /([^/\\(]+:\d+):\d+\)?$/.exec(outside)?.[1];
  return place === undefined ? "" : ` (${place})`;
}

/** Throws unless the value is a function. `what` names it. */
export function checkFunction(value: unknown, what: string): void {
  if (typeof value !== "function") throw invalid(`${what} must be a function, not ${typeof value}`);
}

/**
 * Throws unless the option `signal` is an AbortSignal. Node.js doesn't warn if it then cancels many
 * requests, each with a listener.
 */
export function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted !== "boolean" || typeof addEventListener !== "function") throw invalid(`signal must be an AbortSignal, not ${inspect(signal, { depth: 0 })}`);
  // The signals of jsdom, which have no limit, lack this symbol, by which Node.js knows its own.
  if (Symbol.for("nodejs.event_target") in Object((signal as AbortSignal).constructor)) setMaxListeners(0, signal as AbortSignal);
}

/** Creates the error for an invalid argument that this package detects before the core. */
export function invalid(message: string, cause?: unknown): InvalidArgumentError {
  return withCaller(() => new InvalidArgumentError(message, cause === undefined ? {} : { cause }));
}

/** A chain of causes may be circular. */
const maxErrors = 8;
const maxCharacters = 16_384;

/**
 * Describes an error for the log. Peers only see it with the server option `debug`. Contains only
 * stacks: other members of an error may hold secrets, such as the headers of a failed request.
 */
export function describe(error: unknown): string {
  const texts: string[] = [];
  const left = [error];
  try {
    while (left.length > 0 && texts.length < maxErrors) {
      const next = left.shift();
      texts.push(textOf(next));
      if (!isError(next)) continue;
      if (next.cause !== undefined) left.push(next.cause);
      if (next instanceof AggregateError) left.push(...(next.errors as unknown[]).slice(0, maxErrors));
    }
  } catch {
    return "the thrown value cannot be read";
  }
  const text = texts.join("\ncaused by: ");
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

function textOf(thrown: unknown): string {
  if (isError(thrown)) return typeof thrown.stack === "string" ? thrown.stack : `${thrown.name}: ${thrown.message}`;
  if (typeof thrown !== "object" || thrown === null) return `${inspect(thrown)}, which is not an Error`;
  const { message } = thrown as { message?: unknown };
  return `an object that is not an Error${typeof message === "string" ? `: ${message}` : ""}`;
}

/** Returns whether a value is an error, including errors of other realms. */
function isError(thrown: unknown): thrown is Error {
  return types.isNativeError(thrown) || thrown instanceof Error;
}

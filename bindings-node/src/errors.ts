/** What went wrong, as a word that is the same in every language of Trunkline. */
export type ErrorKind =
  | "protocol"
  | "timeout"
  | "cancelled"
  | "closed"
  | "transport"
  | "version"
  | "invalid"
  | "busy"
  | "blocking"
  | "forked"
  | "internal";

interface ErrorOptions {
  cause?: unknown;
}

/** The base of all errors of this package but {@link ToolError}. `kind` tells them apart, as does the class. */
export abstract class TrunklineError extends Error {
  abstract readonly kind: ErrorKind;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
  }
}

/** The peer answered with a JSON-RPC error. Thrown by a tool's handler, it is what the caller gets. */
export class ProtocolError extends TrunklineError {
  readonly kind = "protocol";
  /** The JSON-RPC error code. */
  readonly code: number;
  /** The data of the JSON-RPC error. */
  readonly data: unknown;

  constructor(message: string, options: ErrorOptions & { code?: number; data?: unknown } = {}) {
    super(message, options);
    this.code = options.code ?? internalError;
    this.data = options.data;
  }
}

/** No answer in time; the peer was told to cancel. */
export class TimeoutError extends TrunklineError {
  readonly kind = "timeout";
}

/** Cancelled by the caller. */
export class CancelledError extends TrunklineError {
  readonly kind = "cancelled";
}

/** The connection or listener is closed, or was closed while waiting. */
export class ClosedError extends TrunklineError {
  readonly kind = "closed";
}

/** The connection could not be made, or broke. */
export class TransportError extends TrunklineError {
  readonly kind = "transport";
}

/** No protocol revision in common. */
export class VersionError extends TrunklineError {
  readonly kind = "version";
}

/** An argument of this package's functions is wrong. */
export class InvalidError extends TrunklineError {
  readonly kind = "invalid";
}

/** A limit was reached. */
export class BusyError extends TrunklineError {
  readonly kind = "busy";
}

/** The call would wait on the thread that must answer it. */
export class BlockingError extends TrunklineError {
  readonly kind = "blocking";
}

/** The port belongs to the parent process. */
export class ForkedError extends TrunklineError {
  readonly kind = "forked";
}

/** A bug in Trunkline, contained. */
export class InternalError extends TrunklineError {
  readonly kind = "internal";
}

/** Thrown by a tool's handler: the caller gets a result with `isError` and this message. */
export class ToolError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ToolError";
  }
}

/**
 * Ends a handler that asked its client where the client answers by coming back: the handler will be called again. It is no failure, and none of the
 * errors of this package, so that code that handles those lets it pass.
 */
export class Suspended extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Suspended";
  }
}

/** The code of JSON-RPC for what went wrong inside. */
const internalError = -32603;
/** The code of JSON-RPC for what is not a request that can be served. */
export const invalidRequest = -32600;

const classes = {
  protocol: ProtocolError,
  timeout: TimeoutError,
  cancelled: CancelledError,
  closed: ClosedError,
  transport: TransportError,
  version: VersionError,
  invalid: InvalidError,
  busy: BusyError,
  blocking: BlockingError,
  forked: ForkedError,
  internal: InternalError,
} satisfies Record<ErrorKind, unknown>;

/** The error for an error object of the core. `kind`: of what is no such object. */
export function errorOf(body: string, kind: unknown = "internal"): TrunklineError {
  let fields: { kind?: ErrorKind; message?: string; code?: number; data?: unknown };
  try {
    fields = JSON.parse(body) as typeof fields;
  } catch {
    // A contained panic of the native code, or an argument that never reached the core, comes as plain text.
    fields = { kind: kind as ErrorKind, message: body };
  }
  const { kind: named = "internal", message = body, code, data } = fields;
  if (named === "protocol") return new ProtocolError(message, { ...(code === undefined ? {} : { code }), data });
  return new (Object.hasOwn(classes, named) ? classes[named] : InternalError)(message);
}

/** What the native code threw, as an error of this package. */
export function thrownBy(error: unknown): TrunklineError {
  if (!(error instanceof Error)) return errorOf(String(error));
  const { code } = error as { code?: unknown };
  // The code of a native error is its kind, or what Node-API says of an argument that is of the wrong type.
  return errorOf(error.message, typeof code === "string" && /Expected$|^InvalidArg$/.test(code) ? "invalid" : code);
}

/** Runs native code, whose errors become errors of this package. */
export function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const thrown = thrownBy(error);
    throw (error as { code?: unknown }).code === "suspended" ? new Suspended(thrown.message) : thrown;
  }
}

/** The error for what a caller's own signal ended. */
export function aborted(signal: AbortSignal): CancelledError {
  return new CancelledError("cancelled by the caller's signal", { cause: signal.reason });
}

/** What the core is told; `what` names it in the error if it cannot be JSON. */
export function stringify(value: object, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalid(`${what} cannot be written as JSON: ${(error as Error).message}`, error);
  }
}

/** A wrong argument that is noticed before the core is asked. */
export function invalid(message: string, cause?: unknown): InvalidError {
  return new InvalidError(message, cause === undefined ? {} : { cause });
}

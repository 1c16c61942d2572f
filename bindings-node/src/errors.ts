// The errors of this package, and the conversion of the core's.

/** The kind of an error: the same word in every language of Trunkline. */
export type ErrorKind =
  | "protocol"
  | "timeout"
  | "cancelled"
  | "closed"
  | "transport"
  | "version"
  | "invalidArgument"
  | "busy"
  | "blocking"
  | "forked"
  | "internal";

interface ErrorOptions {
  cause?: unknown;
}

/** The base class of the errors of this package, except {@link ToolError}. Each kind is a class. */
export abstract class TrunklineError extends Error {
  abstract readonly kind: ErrorKind;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
  }
}

/** A JSON-RPC error of the peer. Thrown by a handler, it is the response to the caller. */
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

/** No response in time. The request was cancelled. */
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

/** An invalid argument to a function of this package. */
export class InvalidArgumentError extends TrunklineError {
  readonly kind = "invalidArgument";
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

/** Thrown by the handler of a tool, it gives the caller a result with `isError` and its message. */
export class ToolError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ToolError";
  }
}

/**
 * Ends a handler that sent a client request whose response comes with another run of the handler.
 * Not a TrunklineError, so that code that handles those lets it pass.
 */
export class Suspended extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Suspended";
  }
}

/** JSON-RPC code of an internal error. */
const internalError = -32603;
/** JSON-RPC code of an invalid request. */
export const invalidRequest = -32600;

const classes = {
  protocol: ProtocolError,
  timeout: TimeoutError,
  cancelled: CancelledError,
  closed: ClosedError,
  transport: TransportError,
  version: VersionError,
  invalid: InvalidArgumentError,
  busy: BusyError,
  blocking: BlockingError,
  forked: ForkedError,
  internal: InternalError,
} satisfies Record<ErrorKind, unknown>;

/** The error for an error object of the core. `kind` is the kind of any other text. */
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

/** Converts an error of the native library to an error of this package. */
export function thrownBy(error: unknown): TrunklineError {
  if (!(error instanceof Error)) return errorOf(String(error));
  const { code } = error as { code?: unknown };
  // The code is a kind, or a word of Node-API for an argument of the wrong type.
  return errorOf(error.message, typeof code === "string" && /Expected$|^InvalidArg$/.test(code) ? "invalidArgument" : code);
}

/** Calls the native library, and converts its errors. */
export function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const thrown = thrownBy(error);
    throw (error as { code?: unknown }).code === "suspended" ? new Suspended(thrown.message) : thrown;
  }
}

/** The error of a request that the caller's signal cancelled. */
export function aborted(signal: AbortSignal): CancelledError {
  return new CancelledError("cancelled by the caller's signal", { cause: signal.reason });
}

/** Writes a message to the core as JSON. `what` names it in the error if it has no JSON form. */
export function stringify(value: object, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalid(`${what} cannot be written as JSON: ${(error as Error).message}`, error);
  }
}

/** The error for an invalid argument that this package finds before the core. */
export function invalid(message: string, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError(message, cause === undefined ? {} : { cause });
}

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

/** The base of all errors of this package. `kind` tells them apart, as does the class. */
export class TrunklineError extends Error {
  readonly kind: ErrorKind;
  /** The JSON-RPC error code; only for `protocol`. */
  readonly code?: number;
  /** The data of the JSON-RPC error; only for `protocol`. */
  readonly data?: unknown;

  constructor(kind: ErrorKind, message: string, options: { code?: number; data?: unknown; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.kind = kind;
    if (options.code !== undefined) this.code = options.code;
    if (options.data !== undefined) this.data = options.data;
  }
}

/** The peer answered with a JSON-RPC error. */
export class ProtocolError extends TrunklineError {}
/** No answer in time; the peer was told to cancel. */
export class TimeoutError extends TrunklineError {}
/** Cancelled by the caller. */
export class CancelledError extends TrunklineError {}
/** The connection or listener is closed, or was closed while waiting. */
export class ClosedError extends TrunklineError {}
/** The connection could not be made, or broke. */
export class TransportError extends TrunklineError {}
/** No protocol revision in common. */
export class VersionError extends TrunklineError {}
/** An argument of this package's functions is wrong. */
export class InvalidError extends TrunklineError {}
/** A limit was reached. */
export class BusyError extends TrunklineError {}
/** The call would wait on the thread that must answer it. */
export class BlockingError extends TrunklineError {}
/** The port belongs to the parent process. */
export class ForkedError extends TrunklineError {}
/** A bug in Trunkline, contained. */
export class InternalError extends TrunklineError {}

/** Thrown by a tool's handler: the caller gets a result with `isError` and this message. */
export class ToolError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ToolError";
  }
}

const classes: Record<ErrorKind, typeof TrunklineError> = {
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
};

/** The error for an error object of the core. */
export function errorOf(body: string, cause?: unknown): TrunklineError {
  let fields: { kind?: ErrorKind; message?: string; code?: number; data?: unknown };
  try {
    fields = JSON.parse(body) as typeof fields;
  } catch {
    // A contained panic of the native code, or an argument that never reached the core, comes as plain text.
    fields = { message: body };
  }
  const kind = fields.kind !== undefined && Object.hasOwn(classes, fields.kind) ? fields.kind : "internal";
  const options: { code?: number; data?: unknown; cause?: unknown } = {};
  if (fields.code !== undefined) options.code = fields.code;
  if (fields.data !== undefined) options.data = fields.data;
  if (cause !== undefined) options.cause = cause;
  return new classes[kind](kind, fields.message ?? body, options);
}

/** What the native code threw, as an error of this package. */
export function thrownBy(error: unknown): TrunklineError {
  return errorOf(error instanceof Error ? error.message : String(error));
}

/** Runs native code, whose errors become errors of this package. */
export function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw thrownBy(error);
  }
}

/** A wrong argument that is noticed before the core is asked. */
export function invalid(message: string, cause?: unknown): InvalidError {
  return new InvalidError("invalid", message, cause === undefined ? {} : { cause });
}

// Failures of calls, from the errors that handlers throw.
import { inspect, types } from "node:util";

import { TokenError } from "./auth.js";
import { messageOf, ToolError } from "./errors.js";
import { ProtocolError } from "./generated/errors.js";
import { InvalidReturn } from "./returns.js";
import { InvalidArguments } from "./schema/validate.js";

/** The argument of `fail`. */
export type Failure =
  | { kind: "tool"; message: string }
  | { kind: "internal"; message: string; logged?: boolean }
  | { kind: "invalid"; message: string; path: string }
  | { kind: "protocol"; message: string; code?: number; data: unknown };

export function failureOf(error: unknown): Failure {
  if (error instanceof ToolError) return { kind: "tool", message: error.message };
  if (error instanceof ProtocolError) return { kind: "protocol", code: error.code, message: messageOf(error), data: error.data };
  if (error instanceof TokenError) {
    const { message, scopes } = error;
    return scopes ? { kind: "protocol", message, data: { error: "insufficient_scope", scopes } } : { kind: "invalid", message, path: "" };
  }
  if (error instanceof InvalidReturn) return { kind: "internal", message: error.message };
  if (error instanceof InvalidArguments) return { kind: "invalid", message: error.message, path: error.path };
  return { kind: "internal", message: describe(error) };
}

/** Errors of a chain of causes that are described. The chain may be circular. */
const mostErrors = 8;
const mostCharacters = 16_384;

/**
 * Describes an error for the log, which a peer sees only with the server option `debug`. Stacks
 * only: other members of an error may hold secrets, such as the headers of a failed request.
 */
function describe(error: unknown): string {
  const texts: string[] = [];
  const left = [error];
  while (left.length > 0 && texts.length < mostErrors) {
    const next = left.shift();
    texts.push(textOf(next));
    if (!isError(next)) continue;
    if (next.cause !== undefined) left.push(next.cause);
    if (next instanceof AggregateError) left.push(...(next.errors as unknown[]).slice(0, mostErrors));
  }
  const text = texts.join("\ncaused by: ");
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

function textOf(thrown: unknown): string {
  if (isError(thrown)) return typeof thrown.stack === "string" ? thrown.stack : `${thrown.name}: ${thrown.message}`;
  if (typeof thrown !== "object" || thrown === null) return `${inspect(thrown)}, which is not an Error`;
  const { message } = thrown as { message?: unknown };
  return `an object that is not an Error${typeof message === "string" ? `: ${message}` : ""}`;
}

/** True also for errors of other realms of the process. */
function isError(thrown: unknown): thrown is Error {
  return types.isNativeError(thrown) || thrown instanceof Error;
}

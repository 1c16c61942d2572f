// Converts errors thrown by handlers to failures of calls.
import { isOne } from "./copies.js";
import { describe, messageOf } from "./errors.js";
import type { Fail } from "./generated/messages.js";
import { InvalidReturn } from "./returns.js";
import { InvalidArguments } from "./schema/validate.js";

export function failureOf(error: unknown): Fail {
  if (isOne("ToolError", error)) return { kind: "tool", message: error.message };
  if (isOne("ProtocolError", error)) return { kind: "protocol", code: error.code, message: messageOf(error), data: error.data };
  if (isOne("TokenError", error)) {
    const { message, scopes } = error;
    return scopes ? { kind: "protocol", message, data: { error: "insufficient_scope", scopes } } : { kind: "invalid", message, path: "" };
  }
  if (error instanceof InvalidReturn) return { kind: "internal", message: error.message };
  if (error instanceof InvalidArguments) return { kind: "invalid", message: error.message, path: error.path };
  return { kind: "internal", message: describe(error) };
}

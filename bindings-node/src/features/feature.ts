// The common part of all features of a server.
import type { Context } from "../context.js";
import { invalid } from "../errors.js";
import type { Answer } from "../returns.js";

/** The handler of a feature, as its calls need it. Both steps may be asynchronous. */
export interface Callable {
  /** Calls the handler with the body of a call. */
  run(body: never, context: Context): unknown;
  /** Maps the return value of the handler to an answer. */
  answer(returned: unknown): Answer | Promise<Answer>;
}

/** A feature to register. */
export interface Feature {
  kind: "tool" | "resource" | "resourceTemplate" | "prompt" | "skill" | "completion" | "provider" | "middleware" | "verifier";
  /** The rest of the message of `register`. */
  description: object;
  /** Absent for a skill, whose files the core serves. */
  callable?: Callable;
}

/** A registered feature. */
export interface Registration {
  /** Removes the feature and notifies connected clients. A second call has no effect. */
  remove(): void;
}

/** Rejects a handler that is not a function. `of` names its feature. */
export function checkHandler(handler: unknown, of: string): void {
  if (typeof handler !== "function") throw invalid(`the handler of ${of} must be a function, not ${typeof handler}`);
}

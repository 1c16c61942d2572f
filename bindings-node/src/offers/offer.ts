// What all registered things have in common.
import type { Context } from "../context.js";
import { invalid } from "../errors.js";
import type { Answer } from "../returns.js";

/** Something registered, as far as its calls need it. Both steps may be asynchronous. */
export interface Callable {
  /** Calls the handler with the body of a call. */
  run(body: never, context: Context): unknown;
  /** Makes the answer of what the handler returned. */
  answer(returned: unknown): Answer | Promise<Answer>;
}

/** Something to register: its kind, the rest of its description, and what is called for it. */
export interface Offer {
  kind: "tool" | "resource" | "resourceTemplate" | "prompt" | "skill" | "completion" | "provider" | "middleware" | "verifier";
  description: object;
  /** Nothing of a skill is called: its files are known. */
  callable?: Callable;
}

/** Something that was registered and can be removed again. */
export interface Registration {
  /** Takes it away; connected clients are told. A second call does nothing. */
  remove(): void;
}

/** Refuses a handler that is no function; `of` names what it is of. */
export function checkHandler(handler: unknown, of: string): void {
  if (typeof handler !== "function") throw invalid(`the handler of ${of} must be a function, not ${typeof handler}`);
}

// Calls of this thread's handlers: from the body to the answer, which is sent exactly once.
import { Context, finish } from "./context.js";
import { ToolError, attempt, thrownBy } from "./errors.js";
import { failureOf } from "./failures.js";
import { InputRequired } from "./input.js";
import { log } from "./log.js";
import type { NativePort } from "./native.js";
import type { Callable } from "./offers/offer.js";
import type { Requests } from "./requests.js";
import { inputOf, type Answer } from "./returns.js";
import { isPromise } from "./validation.js";

export class Calls {
  readonly #port: NativePort;
  readonly #requests: Requests;
  /** The calls that are not answered yet, by their tickets. */
  readonly #open = new Map<number, Context>();

  constructor(port: NativePort, requests: Requests) {
    this.#port = port;
    this.#requests = requests;
  }

  /** Answers a call of something registered, sooner or later. */
  start(ticket: number, callable: Callable | undefined, body: string): void {
    if (!callable) {
      this.#fail(ticket, new ToolError("it was removed while the call was on its way"));
      return;
    }
    const context = new Context(this.#port, this.#requests, ticket);
    this.#open.set(ticket, context);
    try {
      const returned = callable.run(JSON.parse(body) as never, context);
      if (isPromise(returned)) {
        returned.then(
          (value) => {
            this.#complete(ticket, callable, value);
          },
          (error: unknown) => {
            this.#fail(ticket, error);
          },
        );
      } else this.#complete(ticket, callable, returned);
    } catch (error) {
      this.#fail(ticket, error);
    }
  }

  /** Tells a handler that nobody waits for it any more. */
  cancel(ticket: number, reason: string): void {
    this.#finish(ticket, reason);
  }

  #complete(ticket: number, callable: Callable, returned: unknown): void {
    try {
      const answer = returned instanceof InputRequired ? inputOf(returned) : callable.answer(returned);
      if (isPromise(answer)) {
        answer
          .then((answer) => {
            this.#send(ticket, answer);
          })
          .catch((error: unknown) => {
            this.#fail(ticket, error);
          });
      } else this.#send(ticket, answer);
    } catch (error) {
      this.#fail(ticket, error);
    }
  }

  #send(ticket: number, [shape, body]: Answer): void {
    if (this.#finish(ticket)) attempt(() => this.#port.complete(ticket, shape, body));
  }

  /** A handler that waits for input of its client fails here too, and the core knows better. */
  #fail(ticket: number, error: unknown): void {
    this.#finish(ticket);
    let message = "what a handler threw cannot be read";
    try {
      const failure = failureOf(error);
      ({ message } = failure);
      this.#port.fail(ticket, JSON.stringify(failure));
    } catch (error) {
      // Whatever is wrong with the failure, the caller must not wait for it. That the call is gone is no error.
      this.#port.fail(ticket, JSON.stringify({ kind: "internal", message }));
      log([{ level: "error", target: "trunkline", message: thrownBy(error).message }]);
    }
  }

  /** Ends the context of a call; whether there was one. */
  #finish(ticket: number, cancelled?: string): boolean {
    const context = this.#open.get(ticket);
    if (!context) return false;
    this.#open.delete(ticket);
    finish(context, cancelled);
    return true;
  }
}

// Calls of this thread's handlers, from the body to the answer, which is sent exactly once.
import { InputRequired } from "./client-requests.js";
import { Context, finish } from "./context.js";
import { ToolError, attempt, thrownBy } from "./errors.js";
import { failureOf } from "./failures.js";
import type { Callable } from "./features/feature.js";
import { log } from "./log.js";
import type { NativePort } from "./native.js";
import type { Requests } from "./requests.js";
import { inputOf, InvalidReturn, UnfitValue, valueOf, type Answer } from "./returns.js";
import { isPromise } from "./schema/validate.js";

export class Calls {
  readonly #port: NativePort;
  readonly #requests: Requests;
  /** Contexts of the calls without an answer, by ticket. */
  readonly #open = new Map<number, Context>();

  constructor(port: NativePort, requests: Requests) {
    this.#port = port;
    this.#requests = requests;
  }

  /** Runs the handler of a call and answers when it is done. */
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

  /** Throws what a schema library says of arguments that the core has refused. */
  explain(ticket: number, callable: Callable | undefined, body: string): void {
    const explained: Callable = { run: (args) => callable?.explain?.(args), answer: () => valueOf(null) };
    this.start(ticket, explained, body);
  }

  /** Aborts the signal of a call. */
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
      this.#fail(ticket, error instanceof UnfitValue ? new InvalidReturn(`${callable.where ?? "a handler"} returned a value that cannot be sent: ${error.message}`) : error);
    }
  }

  #send(ticket: number, [shape, body]: Answer): void {
    if (this.#finish(ticket)) attempt(() => this.#port.complete(ticket, shape, body));
  }

  /** Fails a call. A handler that suspends ends here too; the core ignores that failure. */
  #fail(ticket: number, error: unknown): void {
    this.#finish(ticket);
    let message = "what a handler threw cannot be read";
    try {
      const failure = failureOf(error);
      ({ message } = failure);
      this.#port.fail(ticket, JSON.stringify(failure));
    } catch (error) {
      // A failure that cannot be sent must not leave the caller waiting.
      this.#port.fail(ticket, JSON.stringify({ kind: "internal", message }));
      log([{ level: "error", target: "trunkline", message: thrownBy(error).message }]);
    }
  }

  /** Ends the context of a call; false if it had ended. */
  #finish(ticket: number, cancelled?: string): boolean {
    const context = this.#open.get(ticket);
    if (!context) return false;
    this.#open.delete(ticket);
    finish(context, cancelled);
    return true;
  }
}

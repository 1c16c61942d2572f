// Calls of this thread's handlers, from the body to the response, which is sent exactly once.
import { InputRequired } from "./client-requests.js";
import { Context, finish, passedOn, report } from "./context.js";
import { Suspended, ToolError, describe, thrownBy } from "./errors.js";
import { failureOf } from "./failures.js";
import { TrunklineError } from "./generated/errors.js";
import type { Callable } from "./features/feature.js";
import { UnfitValue } from "./json.js";
import { callBack, log } from "./log.js";
import type { NativePort } from "./native/native.js";
import type { Requests } from "./requests.js";
import { inputOf, InvalidReturn, resultOf, valueOf, type Answer } from "./returns.js";
import { isPromise } from "./schema/validate.js";
import type { CallScope, CallScopes } from "./scope.js";
import type { Telemetry } from "./telemetry.js";

export class Calls {
  telemetry: Telemetry | undefined;
  /** The contexts of unanswered calls, by ticket. */
  readonly #open = new Map<number, Context>();
  /** Tickets of cancelled calls whose handlers are still running. */
  readonly #ignoring = new Set<number>();

  constructor(
    private readonly core: NativePort,
    private readonly requests: Requests,
    private readonly scopes: CallScopes,
  ) {}

  /** Runs the handler of a call, and sends its response. */
  start(ticket: number, callable: Callable | undefined, body: string, cause: number): void {
    if (!callable) {
      this.#fail(ticket, new ToolError("the handler was removed before the call ran"));
      return;
    }
    const scope = this.scopes.get(cause);
    this.#run(ticket, callable, body, scope, new Context(this.core, this.requests, ticket, callable.owner, scope));
  }

  /**
   * Answers whether a schema library accepts arguments that the core rejected, or throws the
   * library's explanation. The core responds to the caller, so the call scope records no failure.
   */
  explain(ticket: number, callable: Callable | undefined, body: string, cause: number): void {
    const explained: Callable = { run: (args) => callable?.explain?.(args), answer: valueOf };
    this.#run(ticket, explained, body, this.scopes.get(cause), new Context(this.core, this.requests, ticket));
  }

  /** Runs a handler within its call's context and span. */
  #run(ticket: number, callable: Callable, body: string, scope: CallScope | undefined, context: Context): void {
    this.#open.set(ticket, context);
    // Hooks, loggers and value conversions belong to the program, as handlers do.
    const complete = (value: unknown): void => (scope ? scope.run(() => this.#complete(ticket, callable, value)) : this.#complete(ticket, callable, value));
    const fail = (error: unknown): void => (scope ? scope.run(() => this.#fail(ticket, error)) : this.#fail(ticket, error));
    const run = (): unknown => callable.run(JSON.parse(body) as never, context);
    // Calls caused by middleware already run within its span.
    const observed = this.telemetry && !scope?.vars ? (): unknown => this.telemetry?.aroundCall(ticket, run) : run;
    try {
      const returned = scope ? scope.run(observed) : observed();
      if (isPromise(returned)) returned.then(complete, fail);
      else complete(returned);
    } catch (error) {
      fail(error);
    }
  }

  /** Aborts the signal of a call. */
  cancel(ticket: number, reason: string): void {
    if (this.#finish(ticket, reason)) this.#ignoring.add(ticket);
  }

  /** True if handlers of cancelled calls are still running. */
  get cancelIsIgnored(): boolean {
    return this.#ignoring.size > 0;
  }

  #complete(ticket: number, callable: Callable, returned: unknown): void {
    this.#ignoring.delete(ticket);
    const fail = (error: unknown): void => {
      const where = callable.where ?? "a handler";
      this.#fail(ticket, error instanceof UnfitValue ? new InvalidReturn(`${where} returned a value that ${error.fault}: ${error.message}`) : error);
    };
    try {
      const answer = returned instanceof InputRequired ? inputOf(returned) : callable.answer(returned);
      if (isPromise(answer)) answer.then((answer) => this.#send(ticket, answer)).catch(fail);
      else this.#send(ticket, answer);
    } catch (error) {
      fail(error);
    }
  }

  #send(ticket: number, [shape, body]: Answer): void {
    if (this.#finish(ticket)) this.core.complete(ticket, shape, body);
  }

  /** Fails a call. Also called when a handler suspends; the core ignores that failure. */
  #fail(ticket: number, error: unknown): void {
    this.#ignoring.delete(ticket);
    const context = this.#open.get(ticket);
    this.#finish(ticket);
    try {
      const passed = context && passedOn(context, error);
      if (passed !== undefined && !(passed instanceof TrunklineError)) {
        this.core.complete(ticket, ...resultOf(passed as object));
        return;
      }
      let failure = failureOf(passed ?? error);
      if (failure.kind === "internal" && context && !passed && !(error instanceof Suspended)) failure = { ...failure, logged: report(context, error, failure.message) };
      this.core.fail(ticket, JSON.stringify(failure));
    } catch (unsent) {
      log([{ level: "error", target: "trunkline", message: `could not send an error response: ${thrownBy(unsent).message}` }]);
      // Neither the caller nor this function may be left hanging.
      callBack("sending an error response", () => this.core.fail(ticket, JSON.stringify({ kind: "internal", message: describe(error) })), []);
    }
  }

  /** Ends the context of a call. Returns false if it had already ended. */
  #finish(ticket: number, cancelled?: string): boolean {
    const context = this.#open.get(ticket);
    if (!context) return false;
    this.#open.delete(ticket);
    finish(context, cancelled);
    return true;
  }
}

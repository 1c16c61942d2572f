// Calls of this thread's handlers, from the body to the response, which is sent exactly once.
import { isOne } from "./copies.js";
import { Context } from "./context.js";
import { Suspended, ToolError, describe, thrownBy } from "./errors.js";
import { failureOf } from "./failures.js";
import type { CallDescription } from "./generated/client-requests.js";
import { ClosedError, TrunklineError } from "./generated/errors.js";
import type { JsonObject } from "./generated/model.js";
import { methods } from "./generated/operations.js";
import type { Callable } from "./features/feature.js";
import { UnfitValue } from "./json.js";
import { callBack, logError } from "./log.js";
import type { Requests } from "./requests.js";
import { Answer, inputOf, InvalidReturn, resultOf, valueOf } from "./returns.js";
import { isPromise } from "./schema/validate.js";
import type { CallScope, CallScopes, Owner } from "./scope.js";
import type { Telemetry } from "./telemetry.js";

export class Calls {
  /** Not declared, because its types are those of an optional package. @internal */
  telemetry: Telemetry | undefined;
  /** The contexts of unanswered calls, by ticket. */
  readonly #open = new Map<number, Context>();
  /** Tickets of cancelled calls whose handlers are still running. */
  readonly ignoring = new Set<number>();

  constructor(
    private readonly requests: Requests,
    private readonly scopes: CallScopes,
  ) {}

  /** Runs the handler of a call, and sends its response. */
  start(ticket: number, callable: Callable | undefined, body: string, cause: number): void {
    const scope = this.scopes.get(cause);
    if (callable) this.#run(ticket, callable, body, scope, new Context(this.requests, ticket, callable.owner, scope));
    else this.#fail(ticket, undefined, new ToolError("the handler was removed before the call ran"));
  }

  /**
   * Answers whether a schema library accepts arguments that the core rejected, or throws the
   * library's explanation. The core responds to the caller, so the call scope records no failure.
   */
  explain(ticket: number, callable: Callable | undefined, body: string, cause: number): void {
    const explained: Callable = { run: (args) => callable?.explain?.(args) };
    this.#run(ticket, explained, body, this.scopes.get(cause), new Context(this.requests, ticket));
  }

  // Most calls have no scope and no span; for those, nothing from here to the answer creates a
  // function.
  #run(ticket: number, callable: Callable, body: string, scope: CallScope | undefined, context: Context): void {
    this.#open.set(ticket, context);
    if (scope) scope.runInAsyncScope(this.#call, undefined, ticket, callable, body, context, scope);
    else this.#call(ticket, callable, body, context);
  }

  /** Calls a handler. The program's value conversions and hooks share its scope. */
  readonly #call = (ticket: number, callable: Callable, body: string, context: Context, scope?: CallScope): void => {
    try {
      const args = JSON.parse(body) as never;
      const { run } = callable;
      // Calls caused by middleware already run within its span.
      const telemetry = scope?.vars ? undefined : this.telemetry;
      this.#settle(ticket, callable, telemetry ? telemetry.aroundCall(ticket, run, args, context) : run(args, context));
    } catch (error) {
      this.#fail(ticket, callable, error);
    }
  };

  /** Sends an answer, converts a return value to an answer, or awaits a promise of either. */
  #settle(ticket: number, callable: Callable, value: unknown): void {
    if (value instanceof Answer) this.#send(ticket, value);
    else if (isPromise(value)) void this.#settleLater(ticket, callable, value);
    else this.#settle(ticket, callable, isOne("InputRequired", value) ? inputOf(value) : (callable.answer ?? valueOf)(value));
  }

  async #settleLater(ticket: number, callable: Callable, value: Promise<unknown>): Promise<void> {
    try {
      this.#settle(ticket, callable, await value);
    } catch (error) {
      this.#fail(ticket, callable, error);
    }
  }

  /** Aborts the signal of a call. */
  cancel(ticket: number, reason: string): void {
    if (this.#finish(ticket, reason)) this.ignoring.add(ticket);
  }

  #send(ticket: number, { shape, body }: Answer): void {
    this.ignoring.delete(ticket);
    if (this.#finish(ticket)) this.requests.core.complete(ticket, shape, body);
  }

  /** Fails a call. Also called when a handler suspends; the core ignores that failure. */
  #fail(ticket: number, callable: Callable | undefined, error: unknown): void {
    this.ignoring.delete(ticket);
    const context = this.#open.get(ticket);
    this.#finish(ticket);
    try {
      if (error instanceof UnfitValue) error = new InvalidReturn(`${callable?.where ?? "a handler"} returned a value that ${error.fault}: ${error.message}`);
      const passed = context?.passedOn(error);
      if (passed !== undefined && !(passed instanceof TrunklineError)) {
        const { shape, body } = resultOf(passed as object);
        this.requests.core.complete(ticket, shape, body);
        return;
      }
      let failure = failureOf(passed ?? error);
      // The call may have ended just before its handler used it.
      if (failure.kind === "internal" && context && !passed && !(error instanceof Suspended || (error instanceof ClosedError && this.requests.core.cancelled(ticket)))) {
        report(context, callable?.owner, error, failure.message);
        failure = { ...failure, logged: true };
      }
      this.requests.core.fail(ticket, JSON.stringify(failure));
    } catch (unsent) {
      logError("could not send an error response", { detail: thrownBy(unsent).message });
      // Neither the caller nor this function may be left hanging.
      callBack("sending an error response", () => this.requests.core.fail(ticket, JSON.stringify({ kind: "internal", message: describe(error) })), []);
    }
  }

  /** Ends the context of a call. Returns false if it had already ended. */
  #finish(ticket: number, cancelled?: string): boolean {
    const context = this.#open.get(ticket);
    if (!context) return false;
    this.#open.delete(ticket);
    context.finish(cancelled);
    return true;
  }
}

/** Logs an error that is hidden from the caller, and passes it to the server's error hook. */
function report(context: Context, owner: Owner | undefined, error: unknown, described: string): void {
  let name = "a handler";
  let about: { event: string; fields?: JsonObject } = { event: "a handler failed" };
  try {
    // Token verification has neither.
    const { method, name: called } = context.described as Partial<CallDescription>;
    if (method !== undefined) {
      name = `${method} ${called}`;
      // As the core logs failures.
      about = method === methods.callTool ? { event: "a tool failed", fields: { tool: called } } : { ...about, fields: { feature: name } };
    }
  } catch {
    // The call is over, or belongs to a client.
  }
  logError(`${name} failed`, { ...about, detail: described, error, target: owner ? "trunkline::server" : "trunkline::client" });
  callBack("onError", () => owner?.onError?.(error, context as never), [], "trunkline::server");
}

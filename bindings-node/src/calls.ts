// Calls of this thread's tools: from the arguments to the answer, which is sent exactly once.
import { inspect } from "node:util";

import { Context, finish } from "./context.js";
import { ProtocolError, ToolError, attempt, thrownBy } from "./errors.js";
import { log } from "./log.js";
import type { NativePort } from "./native.js";
import type { Requests } from "./requests.js";
import { shapeOf } from "./returns.js";
import { issueOf, type Validate } from "./schema.js";
import type { StandardSchemaV1 } from "./standard.js";

/** A registered tool, as far as a call of it needs. */
export interface Callable {
  handler: (args: never, context: Context) => unknown;
  validateInput: Validate | undefined;
  validateOutput: Validate | undefined;
  /** Whether the output schema describes a value that is not an object. */
  wrapped: boolean;
}

export class Calls {
  readonly #port: NativePort;
  readonly #requests: Requests;
  /** The calls that are not answered yet, by their tickets. */
  readonly #open = new Map<number, Context>();

  constructor(port: NativePort, requests: Requests) {
    this.#port = port;
    this.#requests = requests;
  }

  /** Answers a call of a tool, sooner or later. */
  start(ticket: number, tool: Callable | undefined, body: string): void {
    if (!tool) {
      // Removed while the call was on its way.
      this.#answer(ticket, { kind: "tool", message: "the tool was removed" });
      return;
    }
    const context = new Context(this.#port, this.#requests, ticket);
    this.#open.set(ticket, context);
    try {
      const args = JSON.parse(body) as unknown;
      const returned = tool.validateInput ? this.#validated(tool, args, context) : tool.handler(args as never, context);
      if (isPromise(returned)) {
        returned.then(
          (value) => {
            this.#complete(ticket, tool, value);
          },
          (error: unknown) => {
            this.#fail(ticket, error);
          },
        );
      } else this.#complete(ticket, tool, returned);
    } catch (error) {
      this.#fail(ticket, error);
    }
  }

  /** Tells a handler that nobody waits for it any more. */
  cancel(ticket: number, reason: string): void {
    this.#finish(ticket, reason);
  }

  /** Validates with the schema's library, which may be asynchronous, and then calls the handler. */
  #validated(tool: Callable, args: unknown, context: Context): unknown {
    const run = (result: StandardSchemaV1.Result<unknown>): unknown => {
      if (result.issues) throw new Misfit(result.issues);
      return tool.handler(result.value as never, context);
    };
    const result = tool.validateInput?.(args) ?? { value: args };
    return isPromise(result) ? result.then(run) : run(result);
  }

  #complete(ticket: number, tool: Callable, value: unknown): void {
    try {
      const result = tool.validateOutput && !isFinished(value) ? tool.validateOutput(value) : undefined;
      if (isPromise(result)) {
        result
          .then((result) => {
            this.#send(ticket, tool, outputOf(result));
          })
          .catch((error: unknown) => {
            this.#fail(ticket, error);
          });
      } else this.#send(ticket, tool, result ? outputOf(result) : value);
    } catch (error) {
      this.#fail(ticket, error);
    }
  }

  #send(ticket: number, tool: Callable, value: unknown): void {
    const [shape, body] = shapeOf(value, tool.wrapped);
    if (this.#finish(ticket)) attempt(() => this.#port.complete(ticket, shape, body));
  }

  #fail(ticket: number, error: unknown): void {
    this.#finish(ticket);
    this.#answer(ticket, failureOf(error));
  }

  #answer(ticket: number, failure: Failure): void {
    try {
      this.#port.fail(ticket, JSON.stringify(failure));
    } catch (error) {
      // Whatever is wrong with the failure, the caller must not wait for it. That the call is gone is no error.
      this.#port.fail(ticket, JSON.stringify({ kind: "internal", message: failure.message }));
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

/** What `fail` takes. */
type Failure = { kind: "tool" | "internal"; message: string } | { kind: "invalid"; message: string; path: string } | { kind: "protocol"; message: string; code: number; data: unknown };

/** Arguments that pass the JSON Schema but not the library's own checks. */
class Misfit extends Error {
  constructor(readonly issues: readonly StandardSchemaV1.Issue[]) {
    super("the arguments do not fit the schema");
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof ToolError) return { kind: "tool", message: error.message };
  if (error instanceof ProtocolError) return { kind: "protocol", code: error.code, message: error.message, data: error.data };
  if (error instanceof Misfit) return { kind: "invalid", ...issueOf(error.issues) };
  // The stack is for the log; peers see it only if the server was made with `debug`.
  return { kind: "internal", message: error instanceof Error ? inspect(error) : `a handler threw ${inspect(error)}` };
}

function outputOf(result: StandardSchemaV1.Result<unknown>): unknown {
  if (!result.issues) return result.value;
  const { path, message } = issueOf(result.issues);
  throw new Error(`the handler's return value does not fit the output schema: ${path === "" ? "/" : path}: ${message}`);
}

/** Whether a value is a whole result, which has its structured content apart. */
function isFinished(value: unknown): boolean {
  return typeof value === "object" && value !== null && "content" in value && Array.isArray(value.content);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

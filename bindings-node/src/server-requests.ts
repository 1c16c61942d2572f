// A client's handlers for requests and notifications of its server.
import { checkHandler, type Callable } from "./features/feature.js";
import { keepCause, ToolError } from "./errors.js";
import { subscribing, notified, operations, own, returned, silent, type NotificationHandlers, type RequestHandlers } from "./generated/server-requests.js";
import { transportFunctions, type Transport } from "./generated/transport.js";
import { callBack } from "./log.js";
import type { ServerRequestContext } from "./requests.js";
import { resultOf, type Answer } from "./returns.js";

/** All handlers of a client. */
export type ServerHandlers = RequestHandlers & NotificationHandlers;

export class Handlers {
  /** By operation. */
  readonly callables = new Map<string, Callable>();
  readonly #listeners = new Map<string, { name: string; listener: (params: unknown) => void }>();

  /** Adds handlers, replacing those of the same name. */
  add(handlers: ServerHandlers): void {
    for (const [name, handler] of defined(handlers, operations)) {
      const run = async (request: never, { signal }: ServerRequestContext): Promise<Answer> => answerOf(await handler(request, { signal }), name);
      this.callables.set(operations[name], { run: own.includes(name) ? ownFunction(operations[name], run) : run });
    }
    for (const [name, handler] of defined(handlers, notified)) this.#listeners.set(notified[name], { name, listener: handler as (params: unknown) => void });
  }

  /** Adds the functions of a transport. */
  addTransport(transport: Transport): void {
    for (const [name, run] of Object.entries(transportFunctions(transport))) this.callables.set(name, { run, answer: (result) => resultOf(result ?? {}) });
  }

  /** Returns the operations that have handlers, including `more`, in the core's form. */
  lanes(more: ServerHandlers = {}): Record<string, "queue"> {
    return Object.fromEntries([...this.callables.keys(), ...defined(more, operations).map(([name]) => operations[name])].map((operation) => [operation, "queue"]));
  }

  /** True if a handler needs a subscription at newer servers. */
  get listens(): boolean {
    return subscribing.some((name) => this.#listeners.has(notified[name]));
  }

  notify(method: string, params: unknown): void {
    const found = this.#listeners.get(method);
    if (found) callBack(found.name, found.listener, [params]);
  }
}

/** Wraps a function that this program calls, so that it gets the thrown error itself. */
function ownFunction(operation: string, run: Callable["run"]): Callable["run"] {
  return async (request, context) => {
    try {
      return await run(request, context);
    } catch (thrown) {
      const message = (thrown instanceof Error && (thrown.message || thrown.name)) || String(thrown);
      keepCause(`${operation} failed: ${message}`, thrown);
      throw new ToolError(message);
    }
  };
}

function answerOf(result: unknown, name: keyof RequestHandlers): Answer {
  if (silent.includes(name)) return resultOf({});
  if (typeof result === "object" && result !== null) return resultOf(result);
  // Not the value, which may be a secret.
  const found = result === null ? "null" : typeof result;
  throw new TypeError(`${name} returned ${found} instead of an object (${returned[name] ?? "a result"})`);
}

/** Returns the handlers with these names that are not undefined. */
function defined<K extends keyof ServerHandlers>(handlers: ServerHandlers, names: Record<K, string>): [K, NonNullable<ServerHandlers[K]>][] {
  return (Object.keys(names) as K[]).flatMap((name) => {
    const handler = handlers[name];
    if (handler !== undefined) checkHandler(handler, name);
    return handler === undefined ? [] : [[name, handler]];
  });
}

// Handlers of a client for what its server asks and reports.
import { checkHandler, type Callable } from "./features/feature.js";
import { asked, notified, operations, silent, type NotificationHandlers, type RequestHandlers } from "./generated/server-requests.js";
import { transportFunctions, type Transport } from "./generated/transport.js";
import type { ServerRequestContext } from "./requests.js";
import { resultOf } from "./returns.js";

/** All handlers of a client. */
export type ServerHandlers = RequestHandlers & NotificationHandlers;

export class Handlers {
  readonly #callables = new Map<string, Callable>();
  readonly #listeners = new Map<string, (params: unknown) => void>();

  /** Adds handlers in the place of those of the same name. */
  add(handlers: ServerHandlers): void {
    for (const [name, handler] of given(handlers, operations)) {
      const run = (request: never, { signal }: ServerRequestContext): unknown => handler(request, { signal });
      this.#callables.set(operations[name], { run, answer: (result) => answerOf(result, name) });
    }
    for (const [name, handler] of given(handlers, notified)) this.#listeners.set(notified[name], handler as (params: unknown) => void);
  }

  /** Adds the functions of a transport. */
  addTransport(transport: Transport): void {
    for (const [name, run] of Object.entries(transportFunctions(transport))) this.#callables.set(name, { run, answer: (result) => resultOf(result ?? {}) });
  }

  /** The operations that are answered, with those of more handlers, as the core takes them. */
  lanes(more: ServerHandlers = {}): Record<string, "queue"> {
    return Object.fromEntries([...this.#callables.keys(), ...given(more, operations).map(([name]) => operations[name])].map((operation) => [operation, "queue"]));
  }

  /** True if newer servers must be asked for notifications. */
  get listens(): boolean {
    return asked.some((name) => this.#listeners.has(notified[name]));
  }

  callable(operation: string): Callable | undefined {
    return this.#callables.get(operation);
  }

  notify(method: string, params: unknown): void {
    this.#listeners.get(method)?.(params);
  }
}

function answerOf(result: unknown, name: keyof RequestHandlers): ReturnType<typeof resultOf> {
  if (silent.includes(name)) return resultOf({});
  if (typeof result === "object" && result !== null) return resultOf(result);
  throw new TypeError(`${name} returned ${String(result)}, which is not a result`);
}

/** The handlers of these names, as far as they are given. */
function given<K extends keyof ServerHandlers>(handlers: ServerHandlers, names: Record<K, string>): [K, NonNullable<ServerHandlers[K]>][] {
  return (Object.keys(names) as K[]).flatMap((name) => {
    const handler = handlers[name];
    if (handler !== undefined) checkHandler(handler, name);
    return handler === undefined ? [] : [[name, handler]];
  });
}

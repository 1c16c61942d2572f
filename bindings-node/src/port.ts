// The port of this thread, and the loop that drains its queue. docs/bridge.md describes the events.
import { AsyncLocalStorage } from "node:async_hooks";

import { Calls } from "./calls.js";
import { callerPlace, describe, errorOf, thrownBy } from "./errors.js";
import type { TrunklineError } from "./generated/errors.js";
import type { HostSpan } from "./generated/messages.js";
import { EventKind, Shape, waistMethod } from "./generated/waist.js";
import { featureHooks, type Callable, type Feature } from "./features/feature.js";
import { handoffs, hostReads } from "./handoff.js";
import { Exchanges } from "./http-mount/exchanges.js";
import { stringify } from "./json.js";
import { log, logError, writeStderr, type LogRecord } from "./log.js";
import { nativePort, type Event } from "./native/native.js";
import { stringifyOptions, suggesting } from "./option-names.js";
import { serverHooks, taken, transportHooks } from "./options.js";
import { Requests } from "./requests.js";
import type { CallScopes, Owner } from "./scope.js";
import type { StoreCallables } from "./store.js";
import { Telemetry, telemetryApi } from "./telemetry.js";
import { nextTurn } from "./times.js";

/** Events per turn of the event loop. Timers and sockets are served before the next turn. */
const batchSize = 512;
/** Process exit waits for the port to close. */
const exitTimeoutMs = 2000;

/** The owner of an open handle: a listener or a connection. */
export interface HandleOwner {
  receiveNotification?(method: string, params: unknown): void;
  /** The handlers of requests of the server, by operation. */
  handlers?: { callables: ReadonlyMap<string, Callable> };
  closed(error?: TrunklineError): void;
}

/**
 * Runs a function outside of the current asynchronous context. Events belong to no request, and
 * must not see a request's AsyncLocalStorage.
 */
export const outside = AsyncLocalStorage.snapshot();

let current: Port | undefined;

/**
 * Returns the port of this thread. The first use loads the native library; nothing runs before
 * `open`.
 */
export function port(): Port {
  return (current ??= new Port());
}

export class Port {
  readonly #drain = (): void => outside(this.#receive);
  /** The functions of the core. */
  readonly core = outside(() => nativePort(this.#drain));
  readonly #scopes: CallScopes = new Map();
  readonly requests = new Requests(this.core, this.#scopes);
  readonly exchanges = new Exchanges(this.core, this.#scopes);
  readonly calls = new Calls(this.requests, this.#scopes);
  readonly #acceptPipe = handoffs(this.core, this.#drain);
  /** By feature. Removed by `Freed`, because admitted calls may still arrive until then. */
  readonly #callables = new Map<number, Callable>();
  readonly #servers = new Map<number, Owner>();
  /** The functions of custom stores, by server, and those of lifespans. */
  readonly #hosted = new Map<number, ReadonlyMap<string, Callable>>();
  readonly #owners = new Map<number, HandleOwner>();
  #telemetry: Telemetry | undefined;
  #hooked = false;

  /** True if telemetry is enabled and available; later requests have spans. */
  observes(wanted: boolean | undefined): boolean {
    const api = telemetryApi(wanted);
    if (!api) return false;
    if (!this.#telemetry) {
      this.#telemetry = this.calls.telemetry = this.requests.telemetry = new Telemetry(this.core, api);
      this.notify(0, { telemetry: true });
    }
    this.#telemetry.measureLoad();
    return true;
  }

  /** Starts the span of a notification. Connections without telemetry have none. */
  notifying(target: number, { method, params }: { method: string; params?: unknown }): { span?: HostSpan } {
    return this.#telemetry?.starting(target, { method, params, notification: true }) ?? {};
  }

  /** True while a server is listening, mounted, or serving stdio. */
  get isServing(): boolean {
    return [...this.#owners.values()].some(({ handlers }) => !handlers);
  }

  /** Registers a server. `owner` is passed to the calls of its features. */
  registerServer(description: object, owner: Owner, store?: StoreCallables): number {
    const handle = this.#register("server", description, serverHooks);
    this.#servers.set(handle, owner);
    if (store) this.#hosted.set(handle, store);
    return handle;
  }

  /** Registers the functions of a server's lifespan. */
  registerLifespan(server: number, callables: ReadonlyMap<string, Callable>): void {
    this.#hosted.set(this.#register("lifespan", { server }, []), callables);
  }

  /** Registers a feature of a server, or replaces another one. Returns its handle. */
  register(server: number, { kind, name = kind, description, callable, visible: hook, completers }: Feature, replaces?: number): number {
    const hooks: number[] = [];
    const hooked = (kind: "visibility" | "completer", callable: Callable): number => {
      const handle = this.register(server, { kind, description: {}, callable });
      hooks.push(handle);
      return handle;
    };
    try {
      const visible = hook && hooked("visibility", hook);
      const complete = completers && Object.fromEntries([...completers].map(([name, completer]) => [name, hooked("completer", completer)]));
      const handle = this.#register(kind, { server, ...description, replaces, visible, complete }, featureHooks);
      if (callable) this.#callables.set(handle, { ...callable, where: `${name}${callerPlace()}`, owner: this.#servers.get(server) });
      return handle;
    } finally {
      // The feature keeps it alive.
      for (const handle of hooks) this.core.unregister(handle);
    }
  }

  #register(kind: string, description: object, hooks: readonly string[]): number {
    const json = stringifyOptions(description, `the description of a ${kind}`, hooks);
    return suggesting(kind === "server" ? taken.server : [], () => this.core.register(kind, json));
  }

  /** Sends a notification to the clients of a server, or to the server of a connection. */
  notify(target: number, notification: object): void {
    this.core.notify(target, stringify(notification, "the notification"));
  }

  /** Opens a listener or connection. Returns its handle, and its result once it is open. */
  open(config: object, owner: HandleOwner): { handle: number; result: Promise<unknown> } {
    if (!this.#hooked) process.once("exit", () => this.#exit());
    this.#hooked = true;
    const handle = this.#begin(config);
    this.#owners.set(handle, owner);
    const result = this.requests.reply(handle).catch((error: unknown) => {
      // A handle that failed to open gets no `Closed` event.
      this.#owners.delete(handle);
      throw error;
    });
    return { handle, result };
  }

  #begin(config: object): number {
    const { server, client, transport } = config as { server: number; client?: { telemetry?: boolean }; transport: { type: string; reader: number; writer: number } };
    if (transport.type === "fd") return this.core.openPipe(server, transport.reader, transport.writer);
    const span = client?.telemetry === true ? this.#telemetry?.starting(0, { method: "open" }).span : undefined;
    const json = stringifyOptions({ ...config, span, hostDrivenReads: hostReads }, "the options", transportHooks);
    try {
      return suggesting(client ? taken.client : taken.listener, () => this.core.open(json));
    } catch (error) {
      if (span) this.#telemetry?.forget(span.number);
      throw error;
    }
  }

  /** Validates a configuration for `open`. */
  check(config: object): void {
    const json = stringifyOptions(config, "the options", transportHooks);
    suggesting(taken.listener, () => this.core.check(json));
  }

  readonly #receive = (): void => {
    const events = this.core.drain(batchSize, 0);
    for (const event of events) {
      try {
        this.#dispatch(event);
      } catch (error) {
        // The other events must not be lost.
        logError("an event failed", { detail: describe(error), error });
      }
    }
    if (events.length === batchSize) nextTurn(this.#drain);
  };

  #dispatch([kind, ticket, handle, ok, name, body, cause]: Event): void {
    if (typeof body !== "string" || (kind >= EventKind.HttpHead && kind <= EventKind.HttpEnd)) this.exchanges.receive(kind, ticket, ok, body);
    else if (kind === EventKind.Call) {
      if (name === waistMethod.explain) this.calls.explain(ticket, this.#callables.get(handle), body, cause);
      else this.calls.start(ticket, name === "" ? this.#callables.get(handle) : this.#named(handle, name), body, cause);
    } else if (kind === EventKind.Cancel) this.calls.cancel(ticket, body);
    else if (kind === EventKind.Reply) this.requests.receiveReply(ticket, ok, body);
    else if (kind === EventKind.Notification) {
      if (ticket !== 0) this.requests.receiveProgress(ticket, body);
      else this.#owners.get(handle)?.receiveNotification?.(name, body === "" ? {} : JSON.parse(body));
    } else if (kind === EventKind.Closed) {
      const owner = this.#owners.get(handle);
      this.#owners.delete(handle);
      owner?.closed(ok ? undefined : errorOf(body));
    } else if (kind === EventKind.Log) log(JSON.parse(body) as LogRecord[]);
    else if (kind === EventKind.Handoff) this.#acceptPipe(handle);
    else if (kind === EventKind.Telemetry) this.#telemetry?.receive(JSON.parse(body) as object[]);
    else if (kind === EventKind.Freed) {
      for (const map of [this.#callables, this.#servers, this.#hosted, this.#scopes]) map.delete(handle);
    }
  }

  /** Returns a handler of a connection, or a function of a store or a lifespan. */
  #named(handle: number, name: string): Callable | undefined {
    return this.#owners.get(handle)?.handlers?.callables.get(name) ?? this.#hosted.get(handle)?.get(name);
  }

  /** Closes the port at process exit. The event loop has ended, so this blocks. */
  #exit(): void {
    try {
      const end = Date.now() + exitTimeoutMs;
      this.core.close(0, 0);
      for (let left = exitTimeoutMs; left > 0; left = end - Date.now()) {
        for (const [kind, ticket, , , name, body] of this.core.drain(batchSize, left)) {
          if (kind === EventKind.Log) log(JSON.parse(body as string) as LogRecord[]);
          // A lifespan ends with the process.
          if (kind === EventKind.Call && name === waistMethod.close) this.core.complete(ticket, Shape.Result, "{}");
          if (kind === EventKind.Stopped) return;
        }
      }
    } catch (error) {
      writeStderr(`trunkline could not be closed: ${thrownBy(error).message}\n`);
    }
  }
}

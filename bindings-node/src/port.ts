// The port of this thread, and the loop that drains its queue. docs/bridge.md describes the events.
import { AsyncLocalStorage } from "node:async_hooks";

import { Calls } from "./calls.js";
import { attempt, callerPlace, errorOf, thrownBy } from "./errors.js";
import type { TrunklineError } from "./generated/errors.js";
import { EventKind, waistMethod } from "./generated/waist.js";
import { featureHooks, type Callable, type Feature } from "./features/feature.js";
import { Handoffs, hostReads } from "./handoff.js";
import { Exchanges } from "./http-mount/exchanges.js";
import { stringify } from "./json.js";
import { callBack, log, writeStderr, type LogRecord } from "./log.js";
import { native, type NativePort } from "./native/native.js";
import { stringifyOptions } from "./option-names.js";
import { serverHooks, transportHooks } from "./options.js";
import { Requests } from "./requests.js";
import type { CallScopes, Owner } from "./scope.js";
import type { StoreCallables } from "./store.js";
import { type HostSpan, observes, Telemetry } from "./telemetry.js";
import { nextTurn } from "./times.js";

/** Events per turn of the event loop. Timers and sockets are served before the next turn. */
const batch = 512;
/** Fields per event in the array that the native library returns. */
const eventFields = 7;
/** Maximum time that process exit waits for the port to close. */
const exitMs = 2000;

/** The owner of an open handle: a listener or a connection. */
export interface HandleOwner {
  receiveNotification(method: string, params: unknown): void;
  /** Returns the handler of a request of the server. */
  callable(operation: string): Callable | undefined;
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
  readonly requests: Requests;
  readonly exchanges: Exchanges;
  readonly #port: NativePort;
  readonly #callables = new Map<number, Callable>();
  readonly #servers = new Map<number, Owner>();
  /** The functions of custom stores, by server. They are kept until `Freed`. */
  readonly #stores = new Map<number, StoreCallables>();
  readonly #calls: Calls;
  readonly #owners = new Map<number, HandleOwner>();
  readonly #handoffs: Handoffs;
  readonly #scopes: CallScopes = new Map();
  #telemetry: Telemetry | undefined;
  readonly #drain = (): void => {
    outside(() => {
      this.#takeBatch();
    });
  };
  #refs = 0;
  #hooked = false;

  constructor() {
    const { Port } = native();
    this.#port = outside(() => new Port(this.#drain));
    this.requests = new Requests(this.#port, this, this.#scopes);
    this.exchanges = new Exchanges(this.#port, this, this.#scopes);
    this.#calls = new Calls(this.#port, this.requests, this.#scopes);
    this.#handoffs = new Handoffs(this.#port, this.#drain);
  }

  /** True if telemetry is enabled and available; from now on requests have spans. */
  observes(wanted: boolean | undefined): boolean {
    if (!observes(wanted)) return false;
    if (!this.#telemetry) {
      this.#telemetry = this.#calls.telemetry = this.requests.telemetry = new Telemetry(this.#port);
      this.#port.notify(0, JSON.stringify({ telemetry: true }));
    }
    this.#telemetry.measureLoad();
    return true;
  }

  /** Starts the span of a notification. Connections without telemetry have none. */
  notifying(target: number, notification: { method: string; params?: unknown }): { span?: HostSpan } {
    return this.#telemetry?.notifying(target, notification) ?? {};
  }

  /** Registers a server. `owner` is passed to the calls of its features. */
  registerServer(description: object, owner: Owner, store?: StoreCallables): number {
    const handle = this.#register("server", description);
    this.#servers.set(handle, owner);
    if (store) this.#stores.set(handle, store);
    return handle;
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
      const handle = this.#register(kind, { server, ...description, replaces, visible, complete });
      if (callable) this.#callables.set(handle, { ...callable, where: `${name}${callerPlace()}`, owner: this.#servers.get(server) });
      return handle;
    } finally {
      // The feature keeps it alive.
      for (const handle of hooks) this.unregister(handle);
    }
  }

  #register(kind: string, description: object): number {
    const json = stringifyOptions(description, `the description of a ${kind}`, kind === "server" ? serverHooks : featureHooks);
    return attempt(() => this.#port.register(kind, json));
  }

  /**
   * Unregisters a handle. Its callable is kept until `Freed`, because admitted calls may still
   * arrive.
   */
  unregister(handle: number): void {
    this.#servers.delete(handle);
    attempt(() => {
      this.#port.unregister(handle);
    });
  }

  /** Sends a notification to the clients of a server, or to the server of a connection. */
  notify(target: number, notification: object): void {
    const json = stringify(notification, "the notification");
    attempt(() => {
      this.#port.notify(target, json);
    });
  }

  /** Cancels a request, or ends a subscription. */
  cancel(ticket: number): void {
    attempt(() => {
      this.#port.cancel(ticket, "");
    });
  }

  /**
   * Reserves stdin and stdout for a listener: from now on, what the process prints goes to stderr.
   */
  holdStdio(): void {
    this.notify(0, { holdStdio: true });
  }

  /** Returns the close deadline in milliseconds from the options of a server or connection. */
  closeDeadlineMs(handle: number): number {
    return attempt(() => this.#port.closeDeadlineMs(handle));
  }

  /** Returns the facts about a connection; empty once it has ended. */
  describe(connection: number): object {
    try {
      return JSON.parse(this.#port.describe(connection)) as object;
    } catch {
      return {};
    }
  }

  /** Opens a listener or connection. Returns its handle, and its result once it is open. */
  open(config: object, owner: HandleOwner): { handle: number; result: Promise<unknown> } {
    if (!this.#hooked) {
      this.#hooked = true;
      process.once("exit", () => {
        this.#exit();
      });
    }
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
    if (transport.type === "fd") return attempt(() => this.#port.openPipe(server, transport.reader, transport.writer));
    const span = client?.telemetry === true ? this.#telemetry?.opening().span : undefined;
    const json = stringifyOptions({ ...config, span, hostDrivenReads: hostReads }, "the options", transportHooks);
    try {
      return attempt(() => this.#port.open(json));
    } catch (error) {
      if (span) this.#telemetry?.forget(span.number);
      throw error;
    }
  }

  /** Validates a configuration for `open`. */
  check(config: object): void {
    const json = stringifyOptions(config, "the options", transportHooks);
    attempt(() => {
      this.#port.check(json);
    });
  }

  close(handle: number, deadlineMs: number): void {
    attempt(() => {
      this.#port.close(handle, deadlineMs);
    });
  }

  /** True if handlers of cancelled calls are still running. */
  get cancelIsIgnored(): boolean {
    return this.#calls.cancelIsIgnored;
  }

  /** Keeps the event loop alive until `unref` has been called as often. */
  ref(): void {
    if (this.#refs++ === 0) this.#port.ref();
  }

  unref(): void {
    if (--this.#refs === 0) this.#port.unref();
  }

  #takeBatch(): void {
    const events = this.#port.drain("queue", batch, 0);
    for (let at = 0; at < events.length; at += eventFields) {
      // A failing one must not lose the others.
      callBack("an event", () => {
        this.#dispatch(
          events[at] as number,
          events[at + 1] as number,
          events[at + 2] as number,
          events[at + 3] as boolean,
          events[at + 4] as string,
          events[at + 5] as string | Uint8Array,
          events[at + 6] as number,
        );
      }, []);
    }
    if (events.length === batch * eventFields) nextTurn(this.#drain);
  }

  #dispatch(kind: number, ticket: number, handle: number, ok: boolean, name: string, body: string | Uint8Array, cause: number): void {
    if (typeof body !== "string" || (kind >= EventKind.HttpHead && kind <= EventKind.HttpEnd)) {
      this.exchanges.receive(kind, ticket, ok, body);
      return;
    }
    switch (kind) {
      case EventKind.Call:
        if (name === waistMethod.explain) this.#calls.explain(ticket, this.#callables.get(handle), body, cause);
        else this.#calls.start(ticket, name === "" ? this.#callables.get(handle) : this.#named(handle, name), body, cause);
        break;
      case EventKind.Cancel:
        this.#calls.cancel(ticket, body);
        break;
      case EventKind.Reply:
        this.requests.receiveReply(ticket, ok, body);
        break;
      case EventKind.Notification:
        if (ticket !== 0) this.requests.receiveProgress(ticket, body);
        else this.#owners.get(handle)?.receiveNotification(name, body === "" ? {} : JSON.parse(body));
        break;
      case EventKind.Closed: {
        const owner = this.#owners.get(handle);
        this.#owners.delete(handle);
        owner?.closed(ok ? undefined : errorOf(body));
        break;
      }
      case EventKind.Log:
        log(JSON.parse(body) as LogRecord[]);
        break;
      case EventKind.Handoff:
        this.#handoffs.accept(handle);
        break;
      case EventKind.Freed:
        this.#callables.delete(handle);
        this.#stores.delete(handle);
        this.#scopes.delete(handle);
        break;
      case EventKind.Telemetry:
        this.#telemetry?.receive(JSON.parse(body) as never);
        break;
    }
  }

  /** Returns the handler for requests of a connection's server, or a function of a store. */
  #named(handle: number, name: string): Callable | undefined {
    return this.#owners.get(handle)?.callable(name) ?? this.#stores.get(handle)?.get(name);
  }

  /** Closes the port at process exit. The event loop has ended, so this blocks. */
  #exit(): void {
    try {
      const end = Date.now() + exitMs;
      this.#port.close(0, 0);
      for (let left = exitMs; left > 0; left = end - Date.now()) {
        const events = this.#port.drain("queue", batch, left);
        for (let at = 0; at < events.length; at += eventFields) {
          if (events[at] === EventKind.Log) log(JSON.parse(events[at + 5] as string) as LogRecord[]);
          if (events[at] === EventKind.Stopped) return;
        }
      }
    } catch (error) {
      writeStderr(`trunkline could not be closed: ${thrownBy(error).message}\n`);
    }
  }
}

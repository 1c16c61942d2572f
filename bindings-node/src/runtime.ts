// The port of this thread and the loop that empties it. Everything that arrives goes to the object that waits for it; what the events mean is in
// docs/bridge.md.
import { AsyncLocalStorage } from "node:async_hooks";

import { Calls } from "./calls.js";
import { type TrunklineError, attempt, errorOf, stringify, thrownBy } from "./errors.js";
import { Exchanges } from "./exchanges.js";
import { log, type LogRecord } from "./log.js";
import { native, type NativePort } from "./native.js";
import type { Callable, Offer } from "./offers/offer.js";
import { Requests } from "./requests.js";

/** Events taken in one turn of the event loop; the rest waits for the next one, so that timers and sockets are served in between. */
const batch = 512;
/** How long the end of the process waits for the port to close. */
const exitMs = 2000;

/** The kinds of events, by the numbers of the contract. */
const Kind = { Call: 0, Cancel: 1, Reply: 2, Notification: 3, SessionClosed: 4, Log: 5, Stopped: 6, HttpHead: 7, HttpEnd: 9, Watch: 10, Freed: 11 } as const;

/** Whoever owns a listener or a connection. */
export interface Owner {
  notified?(method: string, params: unknown): void;
  closed(error?: TrunklineError): void;
}

/** Runs what it is given outside of whatever happens to be going on: events belong to nobody's request, and must not see one's AsyncLocalStorage. */
const outside = AsyncLocalStorage.snapshot();

/** Whether pipes may be read on this event loop. Other runtimes have the functions of libuv that this takes, but end the process when they are called. */
const driven = process.versions["bun"] === undefined && process.versions["deno"] === undefined;

let current: Runtime | undefined;

/** The runtime of this thread. The first use loads the native library; nothing runs before the first `open`. */
export function runtime(): Runtime {
  return (current ??= new Runtime());
}

export class Runtime {
  readonly requests: Requests;
  readonly exchanges: Exchanges;
  readonly #port: NativePort;
  readonly #callables = new Map<number, Callable>();
  readonly #calls: Calls;
  readonly #owners = new Map<number, Owner>();
  readonly #drain = (): void => {
    outside(() => {
      this.#takeBatch();
    });
  };
  readonly #watched = new Set<number>();
  #holds = 0;
  #hooked = false;

  constructor() {
    const { Port } = native();
    this.#port = outside(() => new Port(this.#drain));
    this.requests = new Requests(this.#port, this);
    this.exchanges = new Exchanges(this.#port, this);
    this.#calls = new Calls(this.#port, this.requests);
  }

  registerServer(description: object): number {
    return this.#register("server", description);
  }

  /** Registers something that a server offers; its handle. */
  register(server: number, { kind, description, callable }: Offer): number {
    const handle = this.#register(kind, { server, ...description });
    if (callable) this.#callables.set(handle, callable);
    return handle;
  }

  #register(kind: string, description: object): number {
    const json = stringify(description, `the description of a ${kind}`);
    return attempt(() => this.#port.register(kind, json));
  }

  unregister(handle: number): void {
    // What is called for it goes with the event `Freed`: calls that were let in before may still come.
    attempt(() => {
      this.#port.unregister(handle);
    });
  }

  /** Tells the clients of a server something. */
  tell(server: number, notice: object): void {
    const json = stringify(notice, "the notification");
    attempt(() => {
      this.#port.notify(server, json);
    });
  }

  /** What calls in flight get when the server closes, in milliseconds. */
  drainDeadlineMs(server: number): number {
    return (JSON.parse(attempt(() => this.#port.describe(server))) as { drainDeadlineMs: number }).drainDeadlineMs;
  }

  /** Opens a listener or connection: its handle, and its result once it is open. The owner hears of it from then on. */
  open(what: object, owner: Owner): { handle: number; result: Promise<unknown> } {
    if (!this.#hooked) {
      this.#hooked = true;
      process.once("exit", () => {
        this.#exit();
      });
    }
    const json = stringify({ ...what, driven }, "the transport");
    const handle = attempt(() => this.#port.open(json));
    this.#owners.set(handle, owner);
    const result = this.requests.reply(handle).catch((error: unknown) => {
      // What never opened is not closed either.
      this.#owners.delete(handle);
      throw error;
    });
    return { handle, result };
  }

  close(handle: number, deadlineMs: number): void {
    attempt(() => {
      this.#port.close(handle, deadlineMs);
    });
  }

  /** Keeps the event loop alive until as many `release`. */
  hold(): void {
    if (this.#holds++ === 0) this.#port.ref();
  }

  release(): void {
    if (--this.#holds === 0) this.#port.unref();
  }

  #takeBatch(): void {
    const events = this.#port.drain("queue", batch, 0);
    for (let at = 0; at < events.length; at += 6) {
      try {
        this.#dispatch(
          events[at] as number,
          events[at + 1] as number,
          events[at + 2] as number,
          events[at + 3] as boolean,
          events[at + 4] as string,
          events[at + 5] as string | Uint8Array,
        );
      } catch (error) {
        // Only a listener of the user can throw. It must be noticed like any other, but not at the cost of the events behind it.
        process.nextTick(() => {
          throw error;
        });
      }
    }
    if (events.length === batch * 6) setImmediate(this.#drain);
  }

  #dispatch(kind: number, ticket: number, handle: number, ok: boolean, name: string, body: string | Uint8Array): void {
    if (typeof body !== "string" || (kind >= Kind.HttpHead && kind <= Kind.HttpEnd)) {
      this.exchanges.heard(kind, ticket, ok, body);
      return;
    }
    switch (kind) {
      case Kind.Call:
        this.#calls.start(ticket, this.#callables.get(handle), body);
        break;
      case Kind.Cancel:
        this.#calls.cancel(ticket, body);
        break;
      case Kind.Reply:
        this.requests.replied(ticket, ok, body);
        break;
      case Kind.Notification:
        if (ticket !== 0) this.requests.progressed(ticket, body);
        else this.#owners.get(handle)?.notified?.(name, body === "" ? {} : JSON.parse(body));
        break;
      case Kind.SessionClosed: {
        const owner = this.#owners.get(handle);
        this.#owners.delete(handle);
        owner?.closed(ok ? undefined : errorOf(body));
        break;
      }
      case Kind.Log:
        log(JSON.parse(body) as LogRecord[]);
        break;
      case Kind.Watch:
        this.#watch(handle);
        break;
      case Kind.Freed:
        this.#callables.delete(handle);
        break;
    }
  }

  /** Reads a pipe on this thread, which saves the hop from another one. */
  #watch(handle: number): void {
    if (this.#watched.has(handle)) return;
    const watched = this.#port.watch(handle, (watched) => {
      if (!watched) this.#watched.delete(handle);
      this.#drain();
    });
    if (watched) this.#watched.add(handle);
  }

  /** Closes the port while the thread is still alive. The event loop no longer runs, so this blocks, shortly. */
  #exit(): void {
    try {
      const end = Date.now() + exitMs;
      this.#port.close(0, 0);
      for (let left = exitMs; left > 0; left = end - Date.now()) {
        const events = this.#port.drain("queue", batch, left);
        for (let at = 0; at < events.length; at += 6) {
          if (events[at] === Kind.Log) log(JSON.parse(events[at + 5] as string) as LogRecord[]);
          if (events[at] === Kind.Stopped) return;
        }
      }
    } catch (error) {
      process.stderr.write(`trunkline could not be closed: ${thrownBy(error).message}\n`);
    }
  }
}

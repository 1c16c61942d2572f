// Requests of this thread: to the servers of its connections, and to the clients of its calls.
import { AsyncLocalStorage } from "node:async_hooks";

import { CancelledError, type TrunklineError, aborted, attempt, errorOf, stringify } from "./errors.js";
import type { Progress } from "./model.js";
import type { NativePort } from "./native.js";
import { milliseconds } from "./times.js";

/** All times are in milliseconds. */
export interface RequestOptions {
  /** Cancels the request. */
  signal?: AbortSignal;
  /** How long to wait for the answer, renewed by progress. */
  timeout?: number;
  /** How long to wait in all. */
  maxTimeout?: number;
}

/** What can be said with any request; not every kind of request has progress. */
export interface SendOptions extends RequestOptions {
  /** Asks for progress, and gets it. */
  onProgress?: (progress: Progress) => void;
}

/** How a client is asked for input. Without times a person gets what the server's `inputTimeout` says. */
export interface AskOptions extends RequestOptions {
  /**
   * Which answer belongs to this question when the handler runs again. Without one, questions are counted by kind, which is right as long as the
   * handler asks them in the same order.
   */
  key?: string;
}

/** How lists are asked for. */
export interface ListOptions {
  /** All pages, as one. */
  all?: boolean;
}

/** What keeps the event loop alive while someone waits. */
export interface Keeper {
  hold(): void;
  release(): void;
}

interface Waiter {
  resolve: (result: never) => void;
  reject: (error: TrunklineError) => void;
  onProgress: SendOptions["onProgress"];
}

export class Requests {
  readonly #port: NativePort;
  readonly #keeper: Keeper;
  readonly #waiters = new Map<number, Waiter>();

  constructor(port: NativePort, keeper: Keeper) {
    this.#port = port;
    this.#keeper = keeper;
  }

  /** Sends a request to the server of a connection or the client of a call; its result. */
  async send(target: number, method: string, params: object | undefined, options: SendOptions & AskOptions & ListOptions): Promise<unknown> {
    const { signal, timeout, maxTimeout, onProgress, key, all } = options;
    if (signal?.aborted) throw aborted(signal);
    const times = { timeoutMs: milliseconds(timeout, "timeout"), maxTimeoutMs: milliseconds(maxTimeout, "maxTimeout") };
    const json = stringify({ method, params, key, all, ...times, progress: onProgress && true }, "the arguments");
    const ticket = attempt(() => this.#port.request(target, json));
    const result = this.reply(ticket, onProgress);
    if (!signal) return result;
    const abort = (): void => {
      attempt(() => {
        this.#port.cancel(ticket, reasonOf(signal));
      });
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await result;
    } catch (error) {
      throw error instanceof CancelledError ? aborted(signal) : error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** What the reply with this ticket will say. */
  reply(ticket: number, onProgress?: SendOptions["onProgress"]): Promise<unknown> {
    this.#keeper.hold();
    return new Promise<unknown>((resolve, reject) => {
      // Progress is heard where it was asked for, as the answer is.
      this.#waiters.set(ticket, { resolve, reject, onProgress: onProgress && AsyncLocalStorage.bind(onProgress) });
    });
  }

  replied(ticket: number, ok: boolean, body: string): void {
    const waiter = this.#waiters.get(ticket);
    if (!waiter) return;
    this.#waiters.delete(ticket);
    this.#keeper.release();
    if (ok) waiter.resolve(JSON.parse(body) as never);
    else waiter.reject(errorOf(body));
  }

  progressed(ticket: number, body: string): void {
    this.#waiters.get(ticket)?.onProgress?.(JSON.parse(body) as Progress);
  }
}

/** What the peer is told about why. */
function reasonOf(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason.message : String(reason);
}

// What listeners and connections have in common: they open, they keep the event loop alive, and they end once.
import { type TrunklineError, aborted } from "./errors.js";
import { runtime, type Owner } from "./runtime.js";

export class Session implements Owner {
  readonly #runtime = runtime();
  readonly #onNotified: ((method: string, params: unknown) => void) | undefined;
  #handle = 0;
  #held = false;
  #ended = false;
  #end!: (error?: TrunklineError) => void;

  /** Fulfilled when the session has ended, with the error if it ended by one. Never rejected. */
  readonly end = new Promise<TrunklineError | undefined>((resolve) => {
    this.#end = resolve;
  });

  constructor(onNotified?: (method: string, params: unknown) => void) {
    this.#onNotified = onNotified;
  }

  /** Opens; fulfilled with what the core says of it once it is open. Aborting the signal gives up. */
  async open(what: object, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) {
      this.closed();
      throw aborted(signal);
    }
    const { handle, result } = this.#begin(what);
    this.#handle = handle;
    this.ref();
    const abort = (): void => {
      this.#runtime.close(handle, 0);
    };
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const opened = await result;
      // It was open a moment before it was given up.
      if (signal?.aborted) throw aborted(signal);
      return opened;
    } catch (error) {
      this.closed();
      throw signal?.aborted ? aborted(signal) : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #begin(what: object): { handle: number; result: Promise<unknown> } {
    try {
      return this.#runtime.open(what, this);
    } catch (error) {
      this.closed();
      throw error;
    }
  }

  get handle(): number {
    return this.#handle;
  }

  async close(deadlineMs: number): Promise<void> {
    if (!this.#ended && this.#handle !== 0) {
      // Whoever waits for the end must not find the process gone instead.
      this.ref();
      this.#runtime.close(this.#handle, deadlineMs);
    }
    await this.end;
  }

  /** Keeps the event loop alive while the session lasts. This is how it starts. */
  ref(): void {
    if (this.#held || this.#ended) return;
    this.#held = true;
    this.#runtime.hold();
  }

  unref(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#runtime.release();
  }

  notified(method: string, params: unknown): void {
    this.#onNotified?.(method, params);
  }

  closed(error?: TrunklineError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.unref();
    this.#end(error);
  }
}

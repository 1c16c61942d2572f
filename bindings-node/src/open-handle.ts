// The common part of listeners and connections: they open, hold the event loop, and close once.
import { aborted } from "./errors.js";
import type { TrunklineError } from "./generated/errors.js";
import type { Callable } from "./features/feature.js";
import { port, type HandleOwner } from "./port.js";
import type { Handlers } from "./server-requests.js";

export class OpenHandle implements HandleOwner {
  readonly #port = port();
  readonly #onNotification: ((method: string, params: unknown) => void) | undefined;
  readonly #handlers: Handlers | undefined;
  #handle = 0;
  #held = false;
  #ended = false;
  #end!: (error?: TrunklineError) => void;

  /** Resolves once this has closed, with the error that closed it, if any. Never rejects. */
  readonly end = new Promise<TrunklineError | undefined>((resolve) => {
    this.#end = resolve;
  });

  constructor(onNotification?: (method: string, params: unknown) => void, handlers?: Handlers) {
    this.#onNotification = onNotification;
    this.#handlers = handlers;
  }

  /** Opens it; resolves with the core's result. Aborting the signal cancels opening. */
  async open(config: object, signal?: AbortSignal): Promise<unknown> {
    try {
      if (signal?.aborted) throw aborted(signal);
      const { handle, result } = this.#port.open(config, this);
      this.#handle = handle;
      this.ref();
      return await this.#opened(handle, result, signal);
    } catch (error) {
      this.closed();
      throw error;
    }
  }

  async #opened(handle: number, result: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
    if (!signal) return result;
    const abort = (): void => {
      this.#port.close(handle, 0);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      const opened = await result;
      // It may have opened just before it was aborted.
      if (!signal.aborted) return opened;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    throw aborted(signal);
  }

  get isOpen(): boolean {
    return this.#handle !== 0 && !this.#ended;
  }

  get handle(): number {
    return this.#handle;
  }

  async close(deadlineMs?: number): Promise<void> {
    if (!this.#ended && this.#handle !== 0) {
      // The process must not exit while a caller awaits the end.
      this.ref();
      this.#port.close(this.#handle, deadlineMs ?? this.#port.closeDeadlineMs(this.#handle));
    }
    await this.end;
  }

  /** Lets the core end the process on a signal while the event loop is blocked. */
  shareSignals(): void {
    if (this.isOpen) this.#port.notify(this.#handle, { foreground: true });
  }

  /** Keeps the event loop alive while this is open, which is the default. */
  ref(): void {
    if (this.#held || this.#ended) return;
    this.#held = true;
    this.#port.ref();
  }

  unref(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#port.unref();
  }

  receiveNotification(method: string, params: unknown): void {
    this.#onNotification?.(method, params);
  }

  callable(operation: string): Callable | undefined {
    return this.#handlers?.callable(operation);
  }

  closed(error?: TrunklineError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.unref();
    this.#end(error);
  }
}

// The common part of listeners and connections: they open, hold the event loop, and close once.
import { aborted, unopened } from "./errors.js";
import { TransportError, type TrunklineError } from "./generated/errors.js";
import { port, type HandleOwner } from "./port.js";

export class OpenHandle implements HandleOwner {
  protected readonly port = port();
  /** 0 until it is opened. */
  handle = 0;
  /** The core's result, once it is open. */
  result: unknown;
  #held = false;
  #ended = false;
  #end!: (error?: TrunklineError) => void;

  /** `onClosed` runs once this has closed, even if promises no longer settle. */
  constructor(private readonly onClosed?: () => void) {}

  /** Resolves once this has closed, with the error that closed it, if any. Never rejects. */
  readonly end = new Promise<TrunklineError | undefined>((resolve) => {
    this.#end = resolve;
  });

  /**
   * Opens it. Aborting the signal cancels opening. What the lifespan of the server throws is thrown
   * itself.
   */
  async open(config: object, signal?: AbortSignal): Promise<this> {
    const abort = (): void => this.port.core.close(this.handle, 0);
    try {
      if (signal?.aborted) throw aborted(signal);
      const { handle, result } = this.port.open(config, this);
      this.handle = handle;
      this.ref();
      signal?.addEventListener("abort", abort, { once: true });
      this.result = await result;
      // The handle may have opened just before it was aborted.
      if (signal?.aborted) throw aborted(signal);
      return this;
    } catch (error) {
      this.closed();
      if (signal?.aborted) throw aborted(signal);
      throw error instanceof TransportError && error.message.includes(unopened) && "cause" in error ? error.cause : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  get isOpen(): boolean {
    return this.handle !== 0 && !this.#ended;
  }

  async close(deadlineMs?: number): Promise<void> {
    if (this.isOpen) {
      // The process must not exit while a caller awaits the end.
      this.ref();
      this.port.core.close(this.handle, deadlineMs ?? this.port.core.closeDeadlineMs(this.handle));
    }
    await this.end;
  }

  /** Lets the core end the process on a signal while the event loop is blocked. */
  shareSignals(): void {
    if (this.isOpen) this.port.notify(this.handle, { foreground: true });
  }

  /** Keeps the event loop alive while this is open, which is the default. */
  ref(): void {
    if (this.#held || this.#ended) return;
    this.#held = true;
    this.port.core.ref();
  }

  unref(): void {
    if (!this.#held) return;
    this.#held = false;
    this.port.core.unref();
  }

  closed(error?: TrunklineError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.unref();
    this.#end(error);
    this.onClosed?.();
  }
}

// Streams of a client: what subscriptions and tasks share.
import { ClosedError } from "./generated/errors.js";
import { waistMethod } from "./generated/waist.js";
import type { OpenStream, SendOptions, SenderOptions } from "./requests.js";

/** Ends streams that are dropped without `close`. */
const dropped = new FinalizationRegistry<() => void>((cancel) => {
  cancel();
});

/** Items of a server, as they come. Iterate over it, and close it: `await using` does it too. */
export class Stream<T> implements AsyncIterableIterator<T, undefined>, AsyncDisposable {
  readonly #open: OpenStream;
  #over = false;
  #closed = false;

  /** @internal */
  constructor(open: OpenStream) {
    this.#open = open;
    dropped.register(this, open.cancel, this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Waits for the next item; done when the stream is over. */
  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#over) return { done: true, value: undefined };
    try {
      const item = (await this.#open.request(waistMethod.next, {})) as T | null;
      if (item) return { done: false, value: item };
    } catch (error) {
      // Closed here, while it waited.
      if (!(error instanceof ClosedError && this.#isOver())) throw error;
    }
    this.#over = true;
    return { done: true, value: undefined };
  }

  /** Ends the stream. A second call has no effect. */
  close(): void {
    this.#over = true;
    if (this.#closed) return;
    this.#closed = true;
    dropped.unregister(this);
    this.#open.cancel();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** @internal */
  protected request(method: string, options: SendOptions & SenderOptions): Promise<unknown> {
    return this.#open.request(method, options);
  }

  #isOver(): boolean {
    return this.#over;
  }
}

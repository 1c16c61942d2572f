// Streams of a client: what subscriptions and tasks share.
import { ClosedError } from "./generated/errors.js";
import { waistMethod } from "./generated/waist.js";
import type { OpenStream, SendOptions, SenderOptions } from "./requests.js";

/** Ends streams that are dropped without `close`. */
const dropped = new FinalizationRegistry<() => void>((cancel) => {
  cancel();
});

/** Items of a server, as they come. Iterate over it, and close it: `await using` does it too. */
export class Stream<T> implements AsyncIterableIterator<T>, AsyncDisposable {
  readonly #open: OpenStream;
  #closed = false;

  /** @internal */
  constructor(open: OpenStream) {
    this.#open = open;
    dropped.register(this, open.cancel, this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Waits for the next item; done when the stream is over.
   *
   * @throws {@link TrunklineError} of the kind that says why the stream has ended.
   */
  async next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#closed ? null : ((await this.request(waistMethod.next, {}).catch(ended)) as T | null);
    return item ? { done: false, value: item } : { done: true, value: undefined };
  }

  /** Ends the stream. A second call has no effect. */
  close(): void {
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
  protected request(method: string, options: SendOptions & SenderOptions, params?: object): Promise<unknown> {
    return this.#open.request(method, options, params);
  }
}

/** The end of a stream that was closed while it was waited for, or whose connection was. */
function ended(error: unknown): null {
  if (error instanceof ClosedError) return null;
  throw error;
}

// Subscriptions of a client.
import { ClosedError } from "./generated/errors.js";
import type { Change, SubscriptionFilter } from "./generated/model.js";
import type { Port } from "./port.js";

/**
 * The changes at a server, as they come. Iterate over it, and close it: `await using` does, and so
 * does a loop that ends. It goes on when the connection is made anew.
 */
export class Subscription implements AsyncIterableIterator<Change, undefined>, AsyncDisposable {
  readonly #port: Port;
  readonly #ticket: number;
  #over = false;

  /** The part of the filter that the server honours. */
  readonly honoured: SubscriptionFilter;

  /** @internal */
  constructor(port: Port, ticket: number, honoured: SubscriptionFilter) {
    this.#port = port;
    this.#ticket = ticket;
    this.honoured = honoured;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Waits for the next change; done when the subscription is over. */
  async next(): Promise<IteratorResult<Change, undefined>> {
    if (this.#over) return { done: true, value: undefined };
    try {
      const change = (await this.#port.requests.send(this.#ticket, "next", undefined, {})) as Change | null;
      if (change) return { done: false, value: change };
    } catch (error) {
      // Closed here, while it waited.
      if (!(error instanceof ClosedError && this.#isOver())) throw error;
    }
    this.#over = true;
    return { done: true, value: undefined };
  }

  /** Ends the subscription. A second call has no effect. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#port.cancel(this.#ticket);
  }

  return(): Promise<IteratorResult<Change, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #isOver(): boolean {
    return this.#over;
  }
}

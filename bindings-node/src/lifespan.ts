// The lifespan of a server: opened before its first call and closed after its last.
import type { Owner } from "./scope.js";
import { nextTurn } from "./times.js";

/** Opens what the calls of a server need. Its value is disposed of at the end. */
export type OpenLifespan = () => unknown;

export class Lifespan {
  readonly #open: OpenLifespan;
  readonly #owner: Owner;
  #users = 0;
  #opened: Promise<unknown> | undefined;
  #closed: Promise<void> = Promise.resolve();

  /** `owner` gets the value. */
  constructor(open: OpenLifespan, owner: Owner) {
    this.#open = open;
    this.#owner = owner;
  }

  /** Opens it for one more listener or connection, which uses it until `end`. */
  async enter(end: Promise<unknown>): Promise<void> {
    this.#users++;
    void end.then(() => {
      if (--this.#users === 0) this.#closed = this.#close();
      // The error is for the caller of `close`.
      this.#closed.catch(() => undefined);
    });
    // The life before may be closing still.
    this.#opened ??= this.#closed.then(this.#open, this.#open);
    const opened = this.#opened;
    try {
      this.#owner.lifespan = await opened;
    } catch (error) {
      if (this.#opened === opened) this.#opened = undefined;
      throw error;
    }
  }

  /** Fulfilled when what was opened is closed; rejected with the error of that. */
  async closed(): Promise<void> {
    // The ends of what was just closed are told in the next microtasks.
    await new Promise(nextTurn);
    await this.#closed;
  }

  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    const value = (await opened?.catch(() => undefined)) as Partial<AsyncDisposable & Disposable> | null | undefined;
    const dispose = value?.[Symbol.asyncDispose];
    if (dispose) await dispose.call(value);
    else value?.[Symbol.dispose]?.();
  }
}

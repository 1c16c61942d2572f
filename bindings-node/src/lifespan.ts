// The lifespan of a server: opened before its first call and closed after its last.
import { thrownBy } from "./errors.js";
import { logError } from "./log.js";
import type { Owner } from "./scope.js";
import { nextTurn } from "./times.js";

/** Opens what the calls of a server need. Its value is disposed of at the end. */
export type OpenLifespan = () => unknown;

export class Lifespan {
  /** The lifespans of mounted servers. */
  readonly #mounted = new Set<Lifespan>();
  /** The ends of the listeners and connections that use it. */
  readonly #uses = new Set<Promise<unknown>>();
  #opened: Promise<unknown> | undefined;
  #closed: Promise<void> = Promise.resolve();

  /** `owner` gets the value, if there is something to open. */
  constructor(
    private readonly open: OpenLifespan | undefined,
    private readonly owner: Owner,
  ) {}

  /** Opens it for one more listener or connection, which uses it until `end`. */
  async enter(end: Promise<unknown>): Promise<void> {
    this.#uses.add(end);
    void end.then(() => {
      this.#uses.delete(end);
      if (this.#uses.size === 0) this.#closed = this.#close();
      // The error is reported by `close`.
      this.#closed.catch(() => undefined);
    });
    if (this.open !== undefined) {
      // The previous lifespan may still be closing.
      const opened = (this.#opened ??= this.#closed.then(this.open, this.open));
      this.owner.opening = opened;
      try {
        this.owner.lifespan = await opened;
      } catch (error) {
        if (this.#opened === opened) this.#opened = undefined;
        throw error;
      } finally {
        if (this.owner.opening === opened) this.owner.opening = undefined;
      }
    }
    for (const mounted of this.#mounted) await mounted.enter(end);
  }

  /** Opens a mounted server's lifespan whenever this one is open, and now if it already is. */
  mount(mounted: Lifespan): void {
    this.#mounted.add(mounted);
    const failed = (error: unknown): void => logError(`could not open the lifespan of a mounted server: ${thrownBy(error).message}`);
    for (const end of this.#uses) mounted.enter(end).catch(failed);
  }

  /** Users of this lifespan keep using a mounted server's lifespan until they end. */
  unmount(mounted: Lifespan): void {
    this.#mounted.delete(mounted);
  }

  /** Resolves when everything that was opened is closed; rejects if closing fails. */
  async closed(): Promise<void> {
    // The ends of what was just closed are reported in the next microtasks.
    await new Promise(nextTurn);
    await this.#closed;
    for (const mounted of this.#mounted) await mounted.#closed;
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

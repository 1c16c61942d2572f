// The lifespan of a server: opened before its first call and closed after its last.
import type { Context } from "./context.js";
import { keepCause, ToolError, unopened } from "./errors.js";
import type { Callable } from "./features/feature.js";
import { waistMethod } from "./generated/waist.js";
import { resultOf, type Answer } from "./returns.js";

/** Opens what the calls of a server need. Its value is disposed of at the end. */
export type OpenLifespan = () => unknown;

/** The state of a lifespan, which the core opens and closes. */
export class Lifespan {
  /** The value that it opened, while it is open. */
  value: unknown;
  /** The lifespans of mounted servers. */
  readonly mounted = new Set<Lifespan>();
  /** The exception from its disposal, until it opens again. */
  #failure: { thrown: unknown } | undefined;

  /** Throws what its disposal threw, for those who close the server. */
  rethrow(seen = new Set<Lifespan>()): void {
    if (this.#failure) throw this.#failure.thrown;
    // Servers may have been mounted on each other, one after the other.
    seen.add(this);
    for (const mounted of this.mounted) if (!seen.has(mounted)) mounted.rethrow(seen);
  }

  /** The functions that the core calls. */
  callables(open: OpenLifespan): ReadonlyMap<string, Callable> {
    const opening = async (_: never, { signal }: Context): Promise<void> => {
      // A cancelled opening may have left the lifespan open.
      await closing();
      this.#failure = undefined;
      try {
        const value = await open();
        if (signal.aborted) await dispose(value);
        else this.value = value;
      } catch (thrown) {
        const message = thrown instanceof Error ? thrown.message : String(thrown);
        keepCause(`${unopened}${message}`, thrown);
        throw new ToolError(message);
      }
    };
    const closing = async (): Promise<void> => {
      const { value } = this;
      this.value = undefined;
      await dispose(value).catch((thrown: unknown) => (this.#failure = { thrown }));
    };
    const answer = (): Answer => resultOf({});
    return new Map([
      [waistMethod.open, { run: opening, answer }],
      [waistMethod.close, { run: closing, answer }],
    ]);
  }
}

async function dispose(opened: unknown): Promise<void> {
  const value = opened as Partial<AsyncDisposable & Disposable> | null | undefined;
  const dispose = value?.[Symbol.asyncDispose];
  if (dispose) await dispose.call(value);
  else value?.[Symbol.dispose]?.();
}

// Custom stores: their functions for the core, and their errors.
import { invalid } from "./errors.js";
import type { Callable } from "./features/feature.js";
import { ProtocolError } from "./generated/errors.js";
import { storeFunctions, storeMethods, type Store, type StoreCall, type StoreFunction } from "./generated/store.js";
import { resultOf } from "./returns.js";

/**
 * Thrown by a custom store. `kind` is the reason: `unavailable` (the store cannot be reached; any
 * other error means the same), `full`, or `corrupt` (it contains unreadable data).
 */
export class StoreError extends Error {
  constructor(
    message: string,
    /** The reason. */
    readonly kind: "unavailable" | "full" | "corrupt" = "unavailable",
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "StoreError";
  }
}

/** The functions of a store, by the names of their calls. */
export type StoreCallables = ReadonlyMap<string, Callable>;

export function storeCallables(store: Store): StoreCallables {
  const object = store as unknown as Record<string, unknown> | null;
  const missing = storeMethods.filter((method) => typeof object?.[method] !== "function");
  if (missing.length > 0) throw invalid(`store: must be a URL or an object with the methods of Store; it lacks ${missing.join(", ")}`);
  const callable = (call: StoreFunction): Callable => ({
    run: async (body: StoreCall) => {
      try {
        return await call(body);
      } catch (error) {
        const kind = error instanceof StoreError ? error.kind : "unavailable";
        const text = error instanceof StoreError ? error.message : String(error);
        throw new ProtocolError(text, { data: { error: kind }, cause: error });
      }
    },
    answer: (result) => resultOf(result as object),
  });
  return new Map(Object.entries(storeFunctions(store)).map(([name, call]) => [name, callable(call)]));
}

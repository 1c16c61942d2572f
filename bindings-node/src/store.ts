// Custom stores: their functions for the core.
import { isOne } from "./copies.js";
import { invalid } from "./errors.js";
import type { Callable } from "./features/feature.js";
import { ProtocolError } from "./generated/errors.js";
import { storeFunctions, storeMethods, type Store, type StoreCall, type StoreFunction } from "./generated/store.js";
import { resultOf } from "./returns.js";

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
        const [kind, text] = isOne("StoreError", error) ? [error.kind, error.message] : ["unavailable", String(error)];
        throw new ProtocolError(text, { data: { error: kind }, cause: error });
      }
    },
    answer: (result) => resultOf(result as object),
  });
  return new Map(Object.entries(storeFunctions(store)).map(([name, call]) => [name, callable(call)]));
}

// Middleware, which wraps requests.
import { proceed, type Context } from "../context.js";
import type { JsonObject } from "../generated/model.js";
import { resultOf } from "../returns.js";
import { checkHandler, type Feature } from "./feature.js";

/** A request on its way to a handler. */
export interface MiddlewareRequest {
  /** The method of the specification, such as `tools/call`. */
  readonly method: string;
  /** Its parameters; empty if it has none. */
  readonly params: JsonObject;
}

/**
 * Runs the rest of the request, with other params if given, in the asynchronous context of its
 * caller. Rejected with what the handler threw.
 */
export type Next = (params?: JsonObject) => Promise<JsonObject>;

/** Wraps requests. It returns the result of `next`, changed or not, or a result of its own. */
export type Middleware = (request: MiddlewareRequest, next: Next, context: Context) => JsonObject | Promise<JsonObject>;

export function middlewareFeature(methods: string | readonly string[] | undefined, middleware: Middleware): Feature {
  checkHandler(middleware, "a middleware");
  return {
    kind: "middleware",
    description: { methods: typeof methods === "string" ? [methods] : methods },
    callable: {
      run: ({ method, params = {} }: { method: string; params?: JsonObject }, context) =>
        middleware({ method, params }, (params) => proceed(context, params) as Promise<JsonObject>, context),
      answer: (returned) => {
        if (typeof returned === "object" && returned !== null) return resultOf(returned);
        throw new TypeError("a middleware must return the result: what next() gave, or an object of its own");
      },
    },
  };
}

// Middleware, which wraps requests.
import { quiet, type Context } from "../context.js";
import type { JsonObject } from "../generated/model.js";
import { Shape } from "../generated/waist.js";
import { exactJson } from "../json.js";
import { Answer, resultOf } from "../returns.js";
import { checkHandler, type Feature } from "./feature.js";

/** A request on its way to a handler. */
export interface MiddlewareRequest {
  /** The protocol method, such as `tools/call`. */
  readonly method: string;
  /** The parameters; empty if there are none. */
  readonly params: JsonObject;
}

/**
 * Runs the rest of the request in the caller's asynchronous context. Pass `params` to replace those
 * of the request. Rejects with the error that the handler threw.
 */
export type Next = (params?: JsonObject) => Promise<JsonObject>;

/** Wraps requests. Returns the result of `next`, modified or not, or a different result. */
export type Middleware = (request: MiddlewareRequest, next: Next, context: Context) => JsonObject | Promise<JsonObject>;

export function middlewareFeature(methods: string | readonly string[] | undefined, middleware: Middleware): Feature {
  checkHandler(middleware, "a middleware");
  return {
    kind: "middleware",
    description: { methods: typeof methods === "string" ? [methods] : methods },
    callable: {
      run: ({ method, params = {} }: { method: string; params?: JsonObject }, context) =>
        middleware({ method, params }, (params) => quiet(context.proceed(params) as Promise<JsonObject>), context),
      answer: (returned) => {
        if (typeof returned === "object" && returned !== null) {
          const unchanged = exactJson(returned);
          return unchanged === undefined ? resultOf(returned) : new Answer(Shape.Result, unchanged);
        }
        throw new TypeError("a middleware must return a result: the value of next(), or another object");
      },
    },
  };
}

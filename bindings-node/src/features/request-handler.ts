// Handlers of requests outside the protocol: methods of extensions and vendors.
import type { Context } from "../context.js";
import type { JsonObject } from "../generated/model.js";
import { requestHandlerOptionsNames, requestHandlerOptionsTimes, type RequestHandlerOptions as GeneratedOptions } from "../generated/options.js";
import { checkNames } from "../option-names.js";
import { convertObject, type Arguments, type Schema } from "../schema/convert.js";
import { InvalidArguments, validating } from "../schema/validate.js";
import { inMilliseconds } from "../times.js";
import { checkHandler, type Feature } from "./feature.js";

/** The definition of a request handler. */
export interface RequestHandlerOptions<P extends Schema | undefined = undefined> extends Omit<GeneratedOptions, "paramsSchema"> {
  /**
   * A JSON Schema or a Standard Schema of the params without `_meta`. Requests that don't match it
   * are rejected with code -32602. Without a schema, the params are not validated.
   */
  paramsSchema?: P | undefined;
}

/** The type of the params of a request. */
export type RequestParams<P> = P extends undefined ? JsonObject : Arguments<P>;

/**
 * Handles a request outside the protocol. Returns an object as the result, or nothing for an empty
 * one. A {@link ToolError} becomes a JSON-RPC error with its message, a {@link ProtocolError}
 * one with its code. Any other error is logged, and the client gets a generic message.
 */
export type RequestHandler<P = undefined> = (params: RequestParams<P>, context: Context) => object | null | undefined | Promise<object | null | undefined>;

export function requestHandlerFeature(method: string, config: RequestHandlerOptions<Schema | undefined>, handler: (params: never, context: Context) => unknown): Feature {
  checkNames(config, requestHandlerOptionsNames);
  const { paramsSchema, ...options } = config;
  const quoted = JSON.stringify(method);
  checkHandler(handler, `the method ${quoted}`);
  const params = paramsSchema === undefined ? undefined : convertObject(paramsSchema, `the paramsSchema of ${quoted}`);
  // No list shows the schema, so only the library validates, and it may convert first (`z.coerce`).
  const checkedByCore = params?.validate ? undefined : params?.json;
  return {
    kind: "requestHandler",
    name: `the handler of ${quoted}`,
    description: { method, paramsSchema: checkedByCore, ...inMilliseconds(options, requestHandlerOptionsTimes) },
    callable: { run: validating(params?.validate, handler, (issues) => new InvalidArguments(issues, `${method}: `)) },
  };
}

// Requests of this thread, to the servers of its connections and to the clients of its calls.
import { AsyncResource } from "node:async_hooks";
import { inspect } from "node:util";

import { aborted, checkFunction, checkSignal, errorOf } from "./errors.js";
import { CancelledError } from "./generated/errors.js";
import type { CallToolResult, JsonObject, Progress } from "./generated/model.js";
import { cacheOptionsNames, inputOptionsNames, requestOptionsNames, type CacheOptions, type InputOptions, type RequestOptions as RequestTimes } from "./generated/options.js";
import { keepExact, stringify } from "./json.js";
import { callBack } from "./log.js";
import type { NativePort } from "./native/native.js";
import { checkNames } from "./option-names.js";
import type { Arguments, Schema } from "./schema/convert.js";
import type { CallScope, CallScopes } from "./scope.js";
import type { Telemetry } from "./telemetry.js";
import { milliseconds } from "./times.js";

/** Options of a request. All times are in milliseconds. */
export interface RequestOptions extends RequestTimes {
  /**
   * Cancels the request, which then rejects with a {@link CancelledError} (not an `AbortError`)
   * whose `cause` is the reason of the signal.
   */
  signal?: AbortSignal | undefined;
}

/** Options of requests that may report progress. */
export interface SendOptions extends RequestOptions {
  /**
   * Requests progress, and receives it. If reports arrive faster than they are handled, only the
   * latest is delivered. Exceptions are logged.
   */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of calls and similar requests. All times are in milliseconds. */
export interface CallOptions extends SendOptions, InputOptions {
  /** The `_meta` of the request. */
  meta?: JsonObject | undefined;
}

/** Options of a tool call. */
export interface ToolCallOptions<S extends Schema | undefined = undefined> extends CallOptions {
  /** Validates and types the structured content: a JSON Schema or a Standard Schema. */
  result?: S | undefined;
  /** Throws a {@link ToolError} if the tool fails. Always applies with `result`. Default: false. */
  raiseOnError?: boolean | undefined;
}

/** The options of all requests; some apply to one kind of request only. */
const requestOptions = ["signal", ...requestOptionsNames, "onProgress", "meta", "key", ...cacheOptionsNames, "result", "raiseOnError", ...inputOptionsNames, "elicitationId"];

/**
 * The result of a tool call. Structured content that is not an object is in its member `result`.
 */
export type ToolResult<S = undefined> = HasText & (S extends Schema ? Omit<CallToolResult, "structuredContent"> & { structuredContent: Structured<Arguments<S>> } : CallToolResult);

interface HasText {
  /** The text blocks of the content, joined by newlines. */
  readonly text: string;
}

type Structured<T> = T extends readonly unknown[] | string | number | boolean | null ? { result: T } : T;

/**
 * Options of a request to the client. By default, requests to a person time out after the server's
 * `inputTimeout`.
 */
export interface ClientRequestOptions extends RequestOptions {
  /**
   * Identifies the response to this request when the handler runs again. By default, the
   * response belongs to an equal request.
   */
  key?: string | undefined;
}

/** The server's request that a handler answers. */
export interface ServerRequestContext {
  /** Aborted when the reply is no longer needed, and when the connection ends. */
  readonly signal: AbortSignal;
}

/**
 * The schema for structured content, which the core validates: a schema of objects, or of a value
 * that they contain.
 */
export interface ExpectedResult {
  resultSchema: JsonObject;
  wrapResult: boolean;
}

/** Options that the sender of a request adds. */
export interface SenderOptions extends InputOptions, CacheOptions {
  /** Validates the structured content of the result. */
  expected?: ExpectedResult | undefined;
  /** Fetches all pages as one. */
  all?: boolean | undefined;
}

/** Sends a client's requests. */
export interface RequestSender {
  readonly handle: number;
  call(method: string, params: object | undefined, options: CallOptions): Promise<unknown>;
  callTool(method: string, params: object, options: ToolCallOptions<Schema | undefined>): Promise<unknown>;
  /** Fetches all pages of a list, and returns their items, which are in `member` of the result. */
  list(method: string, member: string, options: RequestOptions): Promise<unknown>;
  /** Fetches a page of a list, and returns the result. */
  page(method: string, member: string, cursor: string | undefined, options: RequestOptions): Promise<unknown>;
  /** Sends a notification to the server, or a note about the connection to the core. */
  notify(note: object): void;
  /** Opens a stream. */
  openStream(method: string, params: object, options: RequestOptions & InputOptions): Promise<OpenStream>;
}

/**
 * An open stream: the result of the request that opened it, and functions to send requests about
 * it.
 */
export interface OpenStream {
  result: unknown;
  request: (method: string, options: SendOptions & SenderOptions, params?: object) => Promise<unknown>;
  cancel: () => void;
}

/** A request in flight. */
export interface StartedRequest {
  ticket: number;
  result: Promise<unknown>;
}

interface PendingRequest {
  resolve: (reply: { ok: boolean; body: string }) => void;
  onProgress: SendOptions["onProgress"];
  /** Progress runs in the asynchronous context of the request, as its continuation does. */
  context: AsyncResource | undefined;
}

export class Requests {
  readonly #pending = new Map<number, PendingRequest>();
  /** Not declared, because its types are those of an optional package. @internal */
  telemetry: Telemetry | undefined;

  constructor(
    readonly core: NativePort,
    private readonly scopes: CallScopes,
  ) {}

  /**
   * Sends a request to the server of a connection or the client of a call, and returns its result.
   * The calls that it causes in this process run in `scope`.
   */
  async send(target: number, method: string, params: object | undefined, options: SendOptions & ClientRequestOptions & SenderOptions, scope?: CallScope): Promise<unknown> {
    // Awaited, as everywhere on the way to the caller, so that the stack of an error includes the
    // caller.
    return await this.start(target, method, params, options, scope).result;
  }

  /** Sends a request. Returns its ticket and its result. */
  start(target: number, method: string, params: object | undefined, options: SendOptions & ClientRequestOptions & SenderOptions, scope?: CallScope): StartedRequest {
    const { all, expected, ...userOptions } = options;
    checkNames(userOptions, requestOptions);
    const { signal, timeout, maxTimeout, onProgress, key, manualInput, inputResponses, requestState, fresh } = userOptions;
    checkSignal(signal);
    if (onProgress !== undefined) checkFunction(onProgress, "onProgress");
    if (signal?.aborted) throw aborted(signal);
    const times = { timeoutMs: milliseconds(timeout, "timeout"), maxTimeoutMs: milliseconds(maxTimeout, "maxTimeout") };
    const request = { method, params, key, all, ...expected, manualInput, inputResponses, requestState, fresh, ...times, progress: onProgress && true, causes: scope && true };
    const send = (json: string): StartedRequest => {
      const ticket = this.core.request(target, json);
      if (scope) this.scopes.set(ticket, scope);
      const result = this.reply(ticket, onProgress, scope && keepExact);
      return { ticket, result: signal ? this.#abortable(ticket, result, signal) : result };
    };
    const json = stringify(request, "the arguments");
    return this.telemetry ? this.telemetry.sent(target, json, (trace) => send(trace ? stringify({ ...request, trace }, "the arguments") : json)) : send(json);
  }

  async #abortable(ticket: number, result: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    const abort = (): void => this.core.cancel(ticket, reasonOf(signal));
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await result;
    } catch (error) {
      throw error instanceof CancelledError && signal.aborted ? aborted(signal) : error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Returns the result in the reply with this ticket. `read` reads its JSON. */
  async reply(ticket: number, onProgress?: SendOptions["onProgress"], read: (json: string) => unknown = JSON.parse): Promise<unknown> {
    this.core.ref();
    const { ok, body } = await new Promise<Parameters<PendingRequest["resolve"]>[0]>((resolve) => {
      this.#pending.set(ticket, { resolve, onProgress, context: onProgress && new AsyncResource("trunkline.onProgress") });
    });
    if (ok) return read(body);
    // Created here and not where the event arrived, so that its stack leads to the caller.
    throw errorOf(body);
  }

  receiveReply(ticket: number, ok: boolean, body: string): void {
    const request = this.#pending.get(ticket);
    if (!request) return;
    this.#pending.delete(ticket);
    this.core.unref();
    request.resolve({ ok, body });
  }

  receiveProgress(ticket: number, body: string): void {
    const { onProgress, context } = this.#pending.get(ticket) ?? {};
    if (!onProgress) return;
    // The protocol's progress token stands for this request, and this is its callback.
    const progress = JSON.parse(body) as Progress & { progressToken?: unknown };
    delete progress.progressToken;
    context?.runInAsyncScope(callBack, undefined, "onProgress", onProgress, [progress]);
  }
}

/** Returns the reason of a cancellation for the peer. */
function reasonOf(signal: AbortSignal): string {
  // In Jest, the default reason is of another realm, and no instance of Error.
  const { message = signal.reason as unknown } = Object(signal.reason) as { message?: unknown };
  // An object without a prototype cannot be converted to a string.
  return typeof message === "string" ? message : inspect(message, { depth: 0 });
}

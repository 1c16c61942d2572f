// The context of a call: its description, and messages to its client.
import { form } from "./client-requests.js";
import type { ElicitResult, FormContent } from "./client-requests.js";
import { Suspended } from "./errors.js";
import { failureOf } from "./failures.js";
import { ClientRequests, elicit, type CallDescription } from "./generated/client-requests.js";
import { ClosedError, ProtocolError } from "./generated/errors.js";
import type { JsonObject, LoggingLevel } from "./generated/model.js";
import { methods, type InputRequest } from "./generated/operations.js";
import { invalidRequest, waistMethod } from "./generated/waist.js";
import { stringify } from "./json.js";
import type { ClientRequestOptions, RequestOptions, Requests } from "./requests.js";
import type { Schema } from "./schema/convert.js";
import { placed, validated } from "./schema/validate.js";
import { CallScope, type Owner } from "./scope.js";
import { nextTurn } from "./times.js";

/** Yield to the event loop after this many progress reports. */
const REPORTS_IN_A_ROW = 16;
let reports = 0;

/** The facts about a call, and what its handler stores for later runs. */
interface CallInfo extends CallDescription {
  once: JsonObject;
}

/** The call that a handler answers, and messages to its client. */
export class Context extends ClientRequests {
  readonly #requests: Requests;
  readonly #ticket: number;
  #open = true;
  /** The reason of the signal, if the call was cancelled. */
  #cancelled: DOMException | undefined;
  #controller: AbortController | undefined;
  #info: CallInfo | undefined;
  readonly #owner: Owner | undefined;
  readonly #scope: CallScope | undefined;
  #vars: Map<string, unknown> | undefined;
  /** The errors that `next` rejected with, and the replies that they were converted to. */
  #passedOn: Map<unknown, unknown> | undefined;
  /** Values of `once`, by name. */
  #done: Map<string, Promise<unknown>> | undefined;

  /** @internal */
  constructor(requests: Requests, ticket: number, owner?: Owner, scope?: CallScope) {
    super();
    this.#requests = requests;
    this.#ticket = ticket;
    this.#owner = owner;
    this.#scope = scope;
  }

  /** Values shared by this request's middleware and handler. */
  get vars(): Map<string, unknown> {
    return (this.#vars ??= this.#scope?.vars ?? new Map());
  }

  /** The value that the server's `lifespan` option opened. */
  get lifespan(): unknown {
    return this.#owner?.lifespan.value;
  }

  /** Aborted when the caller cancels the call, its connection ends, or the server closes. */
  get signal(): AbortSignal {
    // Created on demand: a controller costs more than the rest of the context.
    this.#controller ??= new AbortController();
    if (this.#cancelled) this.#controller.abort(this.#cancelled);
    return this.#controller.signal;
  }

  /**
   * Reports progress if the caller requested it. Values that don't increase are dropped.
   *
   * @throws {@link InvalidArgumentError} if a number is not finite.
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    return quiet(this.#progress({ progress, total, message }));
  }

  /**
   * Sends a log message to the client, if it accepts messages of that level. `data` is any JSON
   * value; `logger` names the part of the server that logs.
   *
   * @throws {@link InvalidArgumentError} if `data` cannot be represented in JSON.
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.#notify({ log: { level, data, logger } });
  }

  /**
   * Sends a log message with level `debug`, as {@link log} does.
   *
   * @throws {@link InvalidArgumentError} if `data` cannot be represented in JSON.
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  debug(data: unknown, logger?: string): void {
    this.log("debug", data, logger);
  }

  /**
   * Sends a log message with level `info`, as {@link log} does.
   *
   * @throws {@link InvalidArgumentError} if `data` cannot be represented in JSON.
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  info(data: unknown, logger?: string): void {
    this.log("info", data, logger);
  }

  /**
   * Sends a log message with level `warning`, as {@link log} does.
   *
   * @throws {@link InvalidArgumentError} if `data` cannot be represented in JSON.
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  warning(data: unknown, logger?: string): void {
    this.log("warning", data, logger);
  }

  /**
   * Sends a log message with level `error`, as {@link log} does.
   *
   * @throws {@link InvalidArgumentError} if `data` cannot be represented in JSON.
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  error(data: unknown, logger?: string): void {
    this.log("error", data, logger);
  }

  /**
   * Runs `work` once per request, even if the handler is rerun. Later runs get its value, which
   * must be representable in JSON.
   *
   * @throws The error of `work`, which is then repeated in the next run; {@link
   *   InvalidArgumentError} if the value cannot be represented in JSON.
   */
  once<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const values = (this.#done ??= new Map<string, Promise<unknown>>());
    const done = values.get(name) ?? quiet(this.#once(name, work));
    values.set(name, done);
    return done as Promise<T>;
  }

  /**
   * Turns this call into a task: the client gets the task now and fetches the result later. Only
   * has an effect if the tool supports tasks and has `deferTask`, and the client supports tasks.
   */
  startTask(): void {
    this.#notify({ startTask: true });
  }

  /** Sets the status message of the task. Has no effect if the call is not a task. */
  setTaskMessage(text: string): void {
    this.#notify({ taskMessage: text });
  }

  /**
   * Closes the stream that the client waits on, if the client can reconnect for the result (over
   * HTTP, in sessions of 2025-11-25). Has no effect otherwise.
   */
  closeStream(): void {
    this.#notify({ closeStream: true });
  }

  /**
   * Resolves when the client responds to a ping.
   *
   * @throws {@link TimeoutError} after 60 seconds.
   * @throws {@link ProtocolError} with code -32601 on revision 2026-07-28 and later, where servers
   *   cannot ping.
   */
  ping(options: RequestOptions = {}): Promise<void> {
    return quiet(this.#requests.send(this.#ticket, methods.ping, undefined, options).then(() => undefined));
  }

  async #progress(report: object): Promise<void> {
    this.#notify(report);
    if (++reports % REPORTS_IN_A_ROW === 0) await new Promise(nextTurn);
  }

  async #once<T>(name: string, work: () => T | Promise<T>): Promise<unknown> {
    const { once } = this.described;
    if (Object.hasOwn(once, name)) return once[name];
    try {
      const json = stringify({ once: { name, value: (await work()) ?? null } }, `the value of once(${JSON.stringify(name)})`);
      this.#send(json);
      // The value as later runs get it, after a round trip through JSON.
      return (JSON.parse(json) as { once: { value?: unknown } }).once.value;
    } catch (error) {
      // By the next turn, `once` has stored this promise, even if the work threw synchronously.
      await Promise.resolve();
      this.#done?.delete(name);
      throw error;
    }
  }

  #notify(message: object): void {
    if (this.#open) this.#send(stringify(message, "the message to the client"));
  }

  #send(json: string): void {
    try {
      this.#requests.core.notify(this.#ticket, json);
    } catch (error) {
      // The call may have ended in the core just before this thread receives the event.
      if (!this.#requests.core.cancelled(this.#ticket)) throw error;
    }
  }

  /**
   * Ends the context because its call was answered or, if a reason is given, cancelled.
   *
   * @internal
   */
  finish(cancelled?: string): void {
    this.#open = false;
    if (cancelled === undefined) return;
    this.#cancelled = new DOMException(cancelled === "" ? "the call was cancelled" : `the call was cancelled: ${cancelled}`, "AbortError");
    this.#controller?.abort(this.#cancelled);
  }

  /**
   * Runs the rest of a request, for middleware.
   *
   * @internal
   */
  async proceed(params?: JsonObject): Promise<unknown> {
    const scope = new CallScope(this.vars);
    const answer = await this.#requests.send(this.#ticket, waistMethod.next, params, {}, scope).catch((error: unknown) => {
      if (!scope.failure) throw error;
      return error;
    });
    if (!scope.failure) return answer;
    const { thrown } = scope.failure;
    (this.#passedOn ??= new Map<unknown, unknown>()).set(thrown, answer);
    throw thrown;
  }

  /**
   * Records the failure of the call for the code that caused it. If the error passed through
   * middleware, returns the reply that it was already converted to: a result or an error.
   *
   * @internal
   */
  passedOn(thrown: unknown): unknown {
    if (this.#scope && !(thrown instanceof Suspended)) this.#scope.failure = { thrown, internal: failureOf(thrown).kind === "internal" };
    return this.#passedOn?.get(thrown);
  }

  /** @internal */
  override get described(): CallInfo {
    try {
      return (this.#info ??= JSON.parse(this.#requests.core.describe(this.#ticket)) as CallInfo);
    } catch (error) {
      if (this.#open && !this.#requests.core.cancelled(this.#ticket)) throw error;
      throw new ClosedError("the call has ended: read its revision, meta and other details before it ends");
    }
  }

  /** @internal */
  protected override ask({ method, params }: InputRequest, options: ClientRequestOptions, member?: string): Promise<unknown> {
    const result = this.#requests.send(this.#ticket, method, params, options);
    return quiet(member === undefined ? result : result.then((result) => (result as JsonObject)[member]));
  }

  /** @internal */
  protected override askForm<S extends Schema>(message: string, schema: S, options: ClientRequestOptions): Promise<ElicitResult<FormContent<S>>> {
    return quiet(this.#askForm(message, schema, options));
  }

  async #askForm<S extends Schema>(message: string, schema: S, options: ClientRequestOptions): Promise<ElicitResult<FormContent<S>>> {
    const { action, content = {} } = (await this.ask(elicit(message, schema), options)) as ElicitResult;
    if (action !== "accept") return { action };
    return validated(
      form(schema).validate,
      content,
      (content: FormContent<S>) => ({ action, content }),
      (issues) => new ProtocolError(`Invalid response from the client: ${placed(issues)}`, { code: invalidRequest }),
    );
  }
}

/** Keeps a failure that a handler doesn't await from ending the process. */
export function quiet<T>(result: Promise<T>): Promise<T> {
  result.catch(() => undefined);
  return result;
}

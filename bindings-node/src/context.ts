import { ClosedError, ProtocolError, invalidRequest, stringify, thrownBy } from "./errors.js";
import { elicitUrl, form, roots, sample } from "./input.js";
import type { CreateMessageResult, ElicitResult, ElicitUrlResult, FormContent, InputRequest, Root, SamplingMessage, SamplingParams } from "./input.js";
import type { Identity } from "./auth.js";
import type { Implementation, JsonObject, LoggingLevel } from "./model.js";
import type { NativePort } from "./native.js";
import type { AskOptions, RequestOptions, Requests } from "./requests.js";
import type { Schema } from "./schema.js";
import { Misfit, validated } from "./validation.js";

interface Facts {
  method: string;
  name: string;
  revision: string;
  clientInfo?: Implementation;
  clientCapabilities?: JsonObject;
  meta?: JsonObject;
  auth?: Identity;
  progress: boolean;
  inputResponses: Record<string, JsonObject>;
  state?: unknown;
  once: JsonObject;
}

/** Ends the life of a context: the call was answered, or (with a reason) is no longer wanted. */
export let finish: (context: Context, cancelled?: string) => void;

/** For middleware: runs the rest of the request. */
export let proceed: (context: Context, params?: JsonObject) => Promise<unknown>;

/** What a handler knows about the call that it answers, and what it may do meanwhile. */
export class Context {
  readonly #port: NativePort;
  readonly #requests: Requests;
  readonly #ticket: number;
  #open = true;
  #cancelled: string | undefined;
  #controller: AbortController | undefined;
  #facts: Facts | undefined;
  /** What was done once, or is being done. */
  readonly #done = new Map<string, Promise<unknown>>();

  static {
    proceed = (context, params) => context.#requests.send(context.#ticket, "next", params, {});
    finish = (context, cancelled) => {
      context.#open = false;
      context.#cancelled = cancelled;
      if (cancelled !== undefined) context.#controller?.abort(abortReason(cancelled));
    };
  }

  /** @internal */
  constructor(port: NativePort, requests: Requests, ticket: number) {
    this.#port = port;
    this.#requests = requests;
    this.#ticket = ticket;
  }

  /** Aborted when the caller cancels the call, its connection ends, or the server closes. */
  get signal(): AbortSignal {
    // Most handlers never ask, and a controller costs more than the rest of the context.
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(abortReason(this.#cancelled));
    }
    return this.#controller.signal;
  }

  /** Reports progress to the caller, if it asked for it. Values must rise; others are dropped. */
  // It is async so that it can be awaited like every other message to the caller.
  // eslint-disable-next-line @typescript-eslint/require-await
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    this.#tell({ progress, total, message });
  }

  /** Logs to the client of this call, if it wants messages of that level. `data` is anything that can be JSON; `logger` names a part of the server. */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.#tell({ log: { level, data, logger } });
  }

  debug(data: unknown, logger?: string): void {
    this.log("debug", data, logger);
  }

  info(data: unknown, logger?: string): void {
    this.log("info", data, logger);
  }

  warning(data: unknown, logger?: string): void {
    this.log("warning", data, logger);
  }

  error(data: unknown, logger?: string): void {
    this.log("error", data, logger);
  }

  /**
   * Asks the user with a form: a flat object of texts, numbers, booleans and choices, as a JSON Schema or a Standard Schema.
   *
   * This and its like work on every revision that has them. From 2026-07-28 on, a client answers by sending the request again: then this rejects, which
   * ends the handler without a failure, and the handler is called again from the top and gets the answer here. What has an effect before a question
   * belongs into {@link once}. A client that lacks the capability, or cannot be asked where it is, is a {@link ProtocolError} at once.
   */
  elicit<S extends Schema>(message: string, schema: S, options: AskOptions = {}): Promise<ElicitResult<FormContent<S>>> {
    return quiet(this.#elicit(message, schema, options));
  }

  /** Sends the user to a page, for what the client must not see; as {@link elicit}. `elicitationId` is for `server.elicitationComplete`. */
  elicitUrl(message: string, url: string | URL, options: AskOptions & { elicitationId?: string } = {}): Promise<ElicitUrlResult> {
    return quiet(this.#ask<ElicitUrlResult>(elicitUrl(message, url, options), options));
  }

  /** Asks the client's model; as {@link elicit}. A text is a message of the user. */
  sample(messages: string | SamplingMessage | readonly SamplingMessage[], params: SamplingParams, options: AskOptions = {}): Promise<CreateMessageResult> {
    return quiet(this.#ask<CreateMessageResult>(sample(messages, params), options));
  }

  /** Asks for the client's roots; as {@link elicit}. */
  roots(options: AskOptions = {}): Promise<Root[]> {
    return quiet(this.#ask<{ roots: Root[] }>(roots(), options).then(({ roots }) => roots));
  }

  /**
   * Does something once, however often this handler is called for the same request; later runs get the value of the first, which must be able to be JSON.
   */
  once<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    let done = this.#done.get(name);
    if (!done) {
      done = this.#once(name, work);
      this.#done.set(name, done);
    }
    return done as Promise<T>;
  }

  /**
   * Makes a task of this call from here on, if its tool is one that may be a task and has `deferTask`, and the client knows tasks: the client gets the task
   * now, and asks for the answer later. Elsewhere nothing happens.
   */
  startTask(): void {
    this.#tell({ startTask: true });
  }

  /** Says what the task does now, for those who ask for it. Calls that are no tasks have nothing to show it in. */
  setTaskMessage(text: string): void {
    this.#tell({ taskMessage: text });
  }

  /** Closes the stream that the client waits on, where it can come back for the answer: over HTTP, in sessions of 2025-11-25. Elsewhere nothing happens. */
  closeStream(): void {
    this.#tell({ closeStream: true });
  }

  /**
   * Fulfilled when the caller answers; for 60 seconds without an answer, a {@link TimeoutError}. Callers of revision 2026-07-28 and later cannot be
   * asked: a {@link ProtocolError} with the code -32601.
   */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#requests.send(this.#ticket, "ping", undefined, options);
  }

  /** The method of the request, such as `tools/call`. */
  get method(): string {
    return this.#described.method;
  }

  /** The name of the tool or prompt that is called, the URI of the resource that is read, or otherwise the method. */
  get name(): string {
    return this.#described.name;
  }

  /** The protocol revision that the caller speaks. */
  get revision(): string {
    return this.#described.revision;
  }

  /** Who calls, if it said so. */
  get clientInfo(): Implementation | undefined {
    return this.#described.clientInfo;
  }

  /** What the caller can do. */
  get clientCapabilities(): JsonObject {
    return this.#described.clientCapabilities ?? {};
  }

  /** The `_meta` that came with the call. */
  get meta(): JsonObject {
    return this.#described.meta ?? {};
  }

  /** Who was authenticated, if the server asks for that. */
  get auth(): Identity | undefined {
    return this.#described.auth;
  }

  /** The answers to an {@link InputRequired}, by its keys. Keys that were not answered are missing. */
  get inputResponses(): Readonly<Record<string, JsonObject>> {
    return this.#described.inputResponses;
  }

  /** The state that the {@link InputRequired} of the run before left. */
  get state(): unknown {
    return this.#described.state;
  }

  /** Whether the caller asked for progress; otherwise none is sent. */
  get wantsProgress(): boolean {
    return this.#described.progress;
  }

  async #elicit<S extends Schema>(message: string, schema: S, options: AskOptions): Promise<ElicitResult<FormContent<S>>> {
    const { request, validate } = form(message, schema);
    const { action, content = {} } = await this.#ask<ElicitResult>(request, options);
    if (action !== "accept") return { action };
    try {
      return await validated(validate, content, (content: FormContent<S>) => ({ action, content }));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      throw new ProtocolError(`The client's answer does not fit: ${error.path === "" ? "/" : error.path}: ${error.message}`, { code: invalidRequest });
    }
  }

  async #ask<T>({ method, params }: InputRequest, options: AskOptions): Promise<T> {
    return (await this.#requests.send(this.#ticket, method, params, options)) as T;
  }

  async #once<T>(name: string, work: () => T | Promise<T>): Promise<unknown> {
    const { once } = this.#described;
    if (Object.hasOwn(once, name)) return once[name];
    try {
      const json = stringify({ once: { name, value: (await work()) ?? null } }, `the value of once(${JSON.stringify(name)})`);
      this.#notify(json);
      // What later runs will get, and not what only this one has.
      return (JSON.parse(json) as { once: { value?: unknown } }).once.value;
    } catch (error) {
      // Also if the work threw at once: by the next turn `once` has noted this.
      await Promise.resolve();
      this.#done.delete(name);
      throw error;
    }
  }

  #tell(what: object): void {
    if (this.#open) this.#notify(stringify(what, "the message to the client"));
  }

  #notify(json: string): void {
    try {
      this.#port.notify(this.#ticket, json);
    } catch (error) {
      // The call may have ended in the core a moment before this thread learns of it.
      if (!this.#port.cancelled(this.#ticket)) throw thrownBy(error);
    }
  }

  get #described(): Facts {
    try {
      return (this.#facts ??= JSON.parse(this.#port.describe(this.#ticket)) as Facts);
    } catch (error) {
      if (!this.#open || this.#port.cancelled(this.#ticket)) {
        throw new ClosedError("the call is over: what describes it, such as the revision or the meta of the context, is read before it ends");
      }
      throw thrownBy(error);
    }
  }
}

/** Several questions may be asked before the first is awaited; those that nobody awaits must not end the process. */
function quiet<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}

function abortReason(text: string): DOMException {
  return new DOMException(text === "" ? "the call was cancelled" : `the call was cancelled: ${text}`, "AbortError");
}

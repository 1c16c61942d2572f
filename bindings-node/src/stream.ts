// Streams of a client: subscriptions and tasks.
import { ClosedError } from "./generated/errors.js";
import type { CallToolResult, Change, SubscriptionFilter, Task } from "./generated/model.js";
import type { InputOptions } from "./generated/options.js";
import { waistMethod } from "./generated/waist.js";
import type { OpenStream, RequestOptions, SendOptions, SenderOptions, ToolCallOptions, ToolResult } from "./requests.js";
import type { Schema } from "./schema/convert.js";
import { expectation } from "./tool-results.js";

/** Ends streams that are dropped without `close`. */
const dropped = new FinalizationRegistry<() => void>((cancel) => {
  cancel();
});

/** Items of a server, as they come. Iterate over it, and close it: `await using` does it too. */
export class Stream<T> implements AsyncIterableIterator<T>, AsyncDisposable {
  readonly #open: OpenStream;
  #closed = false;

  /** @internal */
  constructor(open: OpenStream) {
    this.#open = open;
    dropped.register(this, open.cancel, this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Waits for the next item; done when the stream is over.
   *
   * @throws {@link TrunklineError} of the kind that says why the stream has ended.
   */
  async next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#closed ? null : ((await this.request(waistMethod.next, {}).catch(ended)) as T | null);
    return item ? { done: false, value: item } : { done: true, value: undefined };
  }

  /** Ends the stream. A second call has no effect. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    dropped.unregister(this);
    this.#open.cancel();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** @internal */
  protected request(method: string, options: SendOptions & SenderOptions, params?: object): Promise<unknown> {
    return this.#open.request(method, options, params);
  }
}

/** The end of a stream that was closed while it was waited for, or whose connection was. */
function ended(error: unknown): null {
  if (error instanceof ClosedError) return null;
  throw error;
}

/** The answers to requests for input, by their keys. */
export type InputResponses = NonNullable<InputOptions["inputResponses"]>;

/** Options of the start of a task. */
export type StartOptions = RequestOptions & Pick<InputOptions, "manualInput">;

/**
 * Changes at a server, in order. It survives a reconnect, and ends when a loop over it ends.
 */
export class Subscription extends Stream<Change> {
  /** The part of the filter that the server honours. */
  readonly honoured: SubscriptionFilter;

  /** @internal */
  constructor(open: OpenStream) {
    super(open);
    this.honoured = open.result as SubscriptionFilter;
  }

  /** Closes the subscription, as the end of a loop over it does. */
  return(): Promise<IteratorResult<Change, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }
}

/**
 * A call of a tool as a task: its states, and its result. States that follow fast on one another
 * may be passed over. `close` ends the polling and leaves the task alone: `resumeTask` takes it up
 * again.
 */
export class ClientTask extends Stream<Task> {
  #state: Task | undefined;

  /** @internal */
  constructor(open: OpenStream) {
    super(open);
    this.#state = (open.result as Task | null) ?? undefined;
  }

  /** The id of the task; undefined if the server made no task of the call. */
  get id(): string | undefined {
    return this.#state?.taskId;
  }

  /** The latest state that was seen; undefined if the server made no task of the call. */
  get state(): Task | undefined {
    return this.#state;
  }

  /**
   * Waits for the next state; done when the task is over.
   *
   * @throws {@link TrunklineError} of the kind that says why the server was not asked.
   */
  override async next(): Promise<IteratorResult<Task, undefined>> {
    const step = await super.next();
    if (!step.done) this.#state = step.value;
    return step;
  }

  /**
   * The result of the call, once the task is over: within `timeout`, or else the `maxTimeout` of
   * the client. The task keeps running, and can be waited for again. `onProgress` gets the progress
   * of a task that `startTask` started, where the revision has it for tasks.
   *
   * @throws {@link ProtocolError} with which the task failed, or if the server does not know it any
   *   more.
   * @throws {@link CancelledError} if the task was cancelled.
   * @throws {@link TimeoutError} if the task is not over, or the server keeps it no longer.
   * @throws {@link ToolError} if the tool fails and `raiseOnError` is set or `result` is given.
   */
  async result<S extends Schema | undefined = undefined>(options: SendOptions & Pick<ToolCallOptions<S>, "result" | "raiseOnError"> = {}): Promise<ToolResult<S>> {
    const { resultSchema, read } = expectation(options);
    const request = { ...options, ...(resultSchema && { resultSchema }) };
    return (await read((await this.request("result", request)) as CallToolResult)) as ToolResult<S>;
  }

  /**
   * Answers the `inputRequests` of the state, by their keys, where the caller does so itself
   * (`manualInput`; 2026-07-28).
   *
   * @throws {@link InvalidArgumentError} if the task asks for no input by its state.
   */
  async respond(responses: InputResponses, options: RequestOptions = {}): Promise<void> {
    await this.request("respond", options, responses);
  }

  /**
   * Cancels the task; of one that is over, nothing changes. The server may let it come to another
   * end.
   *
   * @throws {@link TrunklineError} of the kind that says why, such as `protocol` or `timeout`.
   */
  async cancel(options: RequestOptions = {}): Promise<void> {
    await this.request("cancel", options);
  }
}

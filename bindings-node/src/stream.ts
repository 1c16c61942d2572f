// Client streams: subscriptions and tasks.
import { ClosedError } from "./generated/errors.js";
import type { CallToolResult, Change, SubscriptionFilter, Task } from "./generated/model.js";
import type { InputOptions } from "./generated/options.js";
import { waistMethod } from "./generated/waist.js";
import type { OpenStream, RequestOptions, SendOptions, ToolCallOptions, ToolResult } from "./requests.js";
import type { Schema } from "./schema/convert.js";
import { expectation } from "./tool-results.js";

/** Ends streams that are dropped without `close`. */
const dropped = new FinalizationRegistry<() => void>((cancel) => cancel());

/**
 * Items from a server, in order of arrival. Iterate over it, and close it; `await using` closes it
 * too.
 */
export class Stream<T> implements AsyncIterableIterator<T>, AsyncDisposable {
  #closed = false;

  /** @internal */
  constructor(
    /** @internal */
    protected readonly opened: OpenStream,
  ) {
    dropped.register(this, opened.cancel, this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Waits for the next item; done when the stream has ended.
   *
   * @throws {@link TrunklineError} of a kind that says why the stream has failed.
   */
  async next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#closed ? null : ((await this.opened.request(waistMethod.next, {}).catch(ended)) as T | null);
    return item ? { done: false, value: item } : { done: true, value: undefined };
  }

  /** Ends the stream. Calling it again has no effect. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    dropped.unregister(this);
    this.opened.cancel();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

/**
 * Returns null if the stream was closed during a wait, by itself or with its connection. Rethrows
 * any other error.
 */
function ended(error: unknown): null {
  if (error instanceof ClosedError) return null;
  throw error;
}

/** Options for starting a task. */
export type StartOptions = RequestOptions & Pick<InputOptions, "manualInput">;

/**
 * Changes at a server, in order of arrival. A subscription survives reconnects, and is closed when
 * a loop over it exits.
 */
export class Subscription extends Stream<Change> {
  /** The part of the filter that the server accepted. */
  readonly honored = this.opened.result as SubscriptionFilter;

  /** Closes the subscription, as leaving a loop over it does. */
  return(): Promise<IteratorResult<Change, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }
}

/**
 * A tool call that runs as a task: its states, and its result. States in quick succession may be
 * skipped. `close` stops polling but doesn't cancel the task: `resumeTask` resumes it.
 */
export class ClientTask extends Stream<Task> {
  #state = (this.opened.result as Task | null) ?? undefined;

  /** The id of the task; undefined if the server didn't create a task. */
  get id(): string | undefined {
    return this.#state?.taskId;
  }

  /** The latest known state; undefined if the server didn't create a task. */
  get state(): Task | undefined {
    return this.#state;
  }

  /**
   * Waits for the next state; done when the task has ended.
   *
   * @throws {@link TrunklineError} of a kind that says why the state could not be fetched.
   */
  override async next(): Promise<IteratorResult<Task, undefined>> {
    const step = await super.next();
    if (!step.done) this.#state = step.value;
    return step;
  }

  /**
   * Waits for the task to end, and returns the result of the call. `timeout` defaults to the
   * client's `maxTimeout`; after a timeout the task keeps running, and you can wait for it again.
   * `onProgress` gets the progress of a task that `startTask` started, if the revision reports
   * progress for tasks.
   *
   * @throws {@link ProtocolError} if the task failed with this error, or the server doesn't know
   *   it.
   * @throws {@link CancelledError} if the task was cancelled.
   * @throws {@link TimeoutError} if the task did not end in time, or the server has deleted it.
   * @throws {@link ToolError} if the tool fails and `raiseOnError` is set or `result` is given.
   */
  async result<S extends Schema | undefined = undefined>(options: SendOptions & Pick<ToolCallOptions<S>, "result" | "raiseOnError"> = {}): Promise<ToolResult<S>> {
    const { expected, read } = expectation(options);
    return (await read((await this.opened.request("result", { ...options, expected })) as CallToolResult)) as ToolResult<S>;
  }

  /**
   * Answers the `inputRequests` of the current state, by key, if you passed `manualInput`
   * (2026-07-28).
   *
   * @throws {@link InvalidArgumentError} if the task's state does not request input.
   */
  async respond(responses: NonNullable<InputOptions["inputResponses"]>, options: RequestOptions = {}): Promise<void> {
    await this.opened.request("respond", options, responses);
  }

  /**
   * Cancels the task. Has no effect once the task has ended, and the task may still end
   * differently.
   *
   * @throws {@link TrunklineError} of a kind such as `protocol` or `timeout`.
   */
  async cancel(options: RequestOptions = {}): Promise<void> {
    await this.opened.request("cancel", options);
  }
}

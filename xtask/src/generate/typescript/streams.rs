//! The streams of clients: subscriptions and tasks, and the methods that open them.

/// The classes.
pub(super) const CLASSES: &str = r#"import type { OpenStream, RequestOptions, SendOptions, ToolCallOptions, ToolResult } from "../requests.js";
import type { Schema } from "../schema/convert.js";
import { Stream } from "../stream.js";
import { expectation } from "../tool-results.js";
import type { CallToolResult, Change, SubscriptionFilter, Task } from "./model.js";
import type { InputOptions } from "./options.js";

/** The answers to requests for input, by their keys. */
export type InputResponses = NonNullable<InputOptions["inputResponses"]>;

/** Options of the start of a task. */
export type StartOptions = RequestOptions & Pick<InputOptions, "manualInput">;

/**
 * The changes at a server, as they come. It goes on when the connection is made anew, and ends with
 * a loop over it.
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
   * the client. The task goes on, and can be waited for again. `onProgress` gets the progress of a
   * task that `startTask` started, where the revision has it for tasks.
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
"#;

/// The methods of a client that open them.
pub(super) const METHODS: &str = r#"
  /**
   * Subscribes to changes of resources, lists and tasks; works on every revision.
   *
   * @throws {@link InvalidArgumentError} if the server announces nothing of the kind.
   */
  async subscribe(filter: SubscriptionFilter, options: RequestOptions = {}): Promise<Subscription> {
    return new Subscription(await this.#sender.openStream("subscribe", filter, options));
  }

  /**
   * Calls a tool as a task, on every revision that has tasks. Where the server makes none of the
   * call, the task has no id, and its result at once. `ttl` is the time for which the server is
   * asked to keep it, in milliseconds (2025-11-25). With `manualInput` the caller answers the
   * requests for input that its state shows, with `respond` (2026-07-28).
   *
   * @throws {@link TrunklineError} of the kind that says why, such as `protocol` or `timeout`.
   */
  async startTask(name: string, args: object = {}, { ttl, ...options }: StartOptions & { ttl?: number | undefined } = {}): Promise<ClientTask> {
    const params = { name, arguments: args, ttlMs: milliseconds(ttl, "ttl") };
    return new ClientTask(await this.#sender.openStream("startTask", params, options));
  }

  /**
   * Takes up a task by its id, for example one that was started before this program was.
   *
   * @throws {@link ProtocolError} if the server does not know it, or not any more.
   */
  async resumeTask(taskId: string, options: StartOptions = {}): Promise<ClientTask> {
    return new ClientTask(await this.#sender.openStream("startTask", { taskId }, options));
  }
"#;

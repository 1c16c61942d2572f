// Client requests that are not operations, and requests that open streams.
import { EventEmitter } from "node:events";

import type { SubscriptionFilter } from "./generated/model.js";
import type { CacheOptions } from "./generated/options.js";
import type { CallOptions, RequestOptions, RequestSender } from "./requests.js";
import { ClientTask, Subscription, type StartOptions } from "./stream.js";
import { milliseconds } from "./times.js";

/** The request methods of a client. */
export abstract class ClientRequester<Events extends Record<keyof Events, unknown[]>> extends EventEmitter<Events> {
  readonly #sender: RequestSender;

  /** @internal */
  constructor(sender: RequestSender) {
    super();
    this.#sender = sender;
  }

  /** The connection, for a group that shares it. @internal */
  toJSON(): object {
    return { connection: this.#sender.handle };
  }

  /**
   * Sends a protocol request without a dedicated method, and returns its result.
   *
   * @throws {@link TrunklineError} of a kind such as `protocol` or `timeout`.
   */
  request(method: string, params?: object, options: CallOptions & CacheOptions = {}): Promise<unknown> {
    return this.#sender.call(method, params, options);
  }

  /**
   * Sends a notification without a dedicated method.
   *
   * @throws {@link ClosedError} if the connection has ended.
   */
  notify(method: string, params?: object): void {
    this.#sender.notify({ method, params });
  }

  /**
   * Subscribes to changes of resources, lists and tasks. Works on every revision.
   *
   * @throws {@link InvalidArgumentError} if the server doesn't announce such changes.
   */
  async subscribe(filter: SubscriptionFilter, options: RequestOptions = {}): Promise<Subscription> {
    return new Subscription(await this.#sender.openStream("subscribe", filter, options));
  }

  /**
   * Calls a tool as a task, on any revision that supports tasks. If the server doesn't create a
   * task, the returned object has no id, and its result is available at once. `ttl` is the time in
   * milliseconds for which to ask the server to keep the task (2025-11-25). With `manualInput`, you
   * answer the input requests of its state with `respond` (2026-07-28).
   *
   * @throws {@link TrunklineError} of a kind such as `protocol` or `timeout`.
   */
  async startTask(name: string, args: object = {}, { ttl, ...options }: StartOptions & { ttl?: number | undefined } = {}): Promise<ClientTask> {
    const params = { name, arguments: args, ttlMs: milliseconds(ttl, "ttl") };
    return new ClientTask(await this.#sender.openStream("startTask", params, options));
  }

  /**
   * Resumes a task by its id, for example one that an earlier run of the program started.
   *
   * @throws {@link ProtocolError} if the server does not know it, or has deleted it.
   */
  async resumeTask(taskId: string, options: StartOptions = {}): Promise<ClientTask> {
    return new ClientTask(await this.#sender.openStream("startTask", { taskId }, options));
  }
}

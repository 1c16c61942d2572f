// The requests of a client that are not operations, and those that open streams.
import { EventEmitter } from "node:events";

import type { SubscriptionFilter } from "./generated/model.js";
import type { CacheOptions } from "./generated/options.js";
import type { CallOptions, RequestOptions, RequestSender } from "./requests.js";
import { ClientTask, Subscription, type StartOptions } from "./stream.js";
import { milliseconds } from "./times.js";

/** A client by what it sends. */
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
   * Sends a request of the protocol that has no method of its own; gives its result.
   *
   * @throws {@link TrunklineError} of the kind that says why, such as `protocol` or `timeout`.
   */
  request(method: string, params?: object, options: CallOptions & CacheOptions = {}): Promise<unknown> {
    return this.#sender.call(method, params, options);
  }

  /**
   * Sends a notification that has no method of its own.
   *
   * @throws {@link ClosedError} if the connection has ended.
   */
  notify(method: string, params?: object): void {
    this.#sender.notify({ method, params });
  }

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
}

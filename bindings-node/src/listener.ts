// HTTP listeners.
import { endedBySignals } from "./foreground.js";
import type { BoundAddress } from "./generated/messages.js";
import type { Lifespan } from "./lifespan.js";
import type { OpenHandle } from "./open-handle.js";
import { deadlineOf } from "./times.js";

/** A server that is listening, for HTTP or on descriptors. */
export class Listener {
  readonly #handle: OpenHandle;
  readonly #deadlineMs: number;
  readonly #lifespan: Lifespan;
  /** The URL of the endpoint. Empty on descriptors. */
  readonly url: string;
  /** The address. Empty on a Unix socket and on descriptors. */
  readonly host: string;
  /** The port. 0 on a Unix socket and on descriptors. */
  readonly port: number;

  /** @internal */
  constructor(handle: OpenHandle, { url = "", host = "", port = 0 }: BoundAddress, deadlineMs: number, lifespan: Lifespan) {
    this.#handle = handle;
    this.#deadlineMs = deadlineMs;
    this.#lifespan = lifespan;
    this.url = url;
    this.host = host;
    this.port = port;
  }

  /**
   * Stops listening. Calls in flight get `deadline` milliseconds (default: all but the last fifth
   * of the server's `drainDeadline`) and are then cancelled. Also closes the server's lifespan if
   * nothing else serves or uses the server.
   *
   * @throws The error of the lifespan, if closing it fails.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    await this.#handle.close(deadlineOf(options) ?? this.#deadlineMs);
    this.#lifespan.rethrow();
  }

  /**
   * Serves in the foreground. Resolves once the listener has closed, and the server's lifespan if
   * nothing else uses it.
   *
   * SIGINT and SIGTERM close the listener unless the program handles them itself; calls in flight
   * may complete within `drainDeadline`. A second signal ends the process at once. A handler that
   * blocks the event loop for all that time does not keep the process alive: it exits with status
   * 1. Nor do child processes left by handlers: two seconds after a signal has closed the listener,
   * the process exits with 0 if nothing else is running, unless the program had child processes of
   * its own before.
   *
   * @throws The error of the lifespan, if closing it fails.
   */
  async run(): Promise<void> {
    const serve = (areHandled: boolean): Promise<unknown> => {
      if (areHandled) this.#handle.shareSignals();
      return this.#handle.end;
    };
    await endedBySignals(serve, () => this.#handle.close(this.#deadlineMs));
    this.#lifespan.rethrow();
  }

  /** Keeps the event loop alive while listening, which is the default. */
  ref(): this {
    this.#handle.ref();
    return this;
  }

  /** Lets the process exit while listening. */
  unref(): this {
    this.#handle.unref();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

// Listeners for HTTP.
import { endedBySignals } from "./foreground.js";
import type { Lifespan } from "./lifespan.js";
import type { OpenHandle } from "./open-handle.js";
import { deadlineOf } from "./times.js";

/** The result of opening a listener. */
export interface Address {
  url: string;
  host?: string;
  port?: number;
}

/** A server that listens, for HTTP or on descriptors. */
export class Listener {
  readonly #handle: OpenHandle;
  readonly #deadlineMs: number;
  readonly #lifespan: Lifespan;
  /** The URL of the endpoint. Empty on descriptors. */
  readonly url: string;
  /** Empty on a Unix socket and on descriptors. */
  readonly host: string;
  /** 0 on a Unix socket and on descriptors. */
  readonly port: number;

  /** @internal */
  constructor(handle: OpenHandle, address: Address, deadlineMs: number, lifespan: Lifespan) {
    this.#handle = handle;
    this.#deadlineMs = deadlineMs;
    this.#lifespan = lifespan;
    this.url = address.url;
    this.host = address.host ?? "";
    this.port = address.port ?? 0;
  }

  /**
   * Stops listening. Calls in flight get `deadline` milliseconds (default: all but the last fifth
   * of the server's `drainDeadline`), then they are cancelled. The lifespan of the server is closed
   * too, if nothing else serves or uses the server.
   *
   * @throws The error of the lifespan, if that does not close.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    await this.#handle.close(deadlineOf(options) ?? this.#deadlineMs);
    await this.#lifespan.closed();
  }

  /**
   * Serves in the foreground: fulfilled once the listener has closed, and the lifespan of the
   * server, if nothing else uses it. SIGINT and SIGTERM close the listener, where the program does
   * not handle them itself; calls in flight may complete within `drainDeadline`. A second signal
   * ends the process at once. A handler that blocks the event loop for all that time does not keep
   * the process: it exits with status 1. Nor do child processes that handlers have left: two
   * seconds after a signal has closed the listener, it exits with 0 if nothing else is left.
   *
   * @throws The error of the lifespan, if that does not close.
   */
  async run(): Promise<void> {
    const serve = (areHandled: boolean): Promise<unknown> => {
      if (areHandled) this.#handle.shareSignals();
      return this.#handle.end;
    };
    await endedBySignals(serve, () => this.#handle.close(this.#deadlineMs));
    await this.#lifespan.closed();
  }

  /** Keeps the event loop alive while listening, which is the default. */
  ref(): this {
    this.#handle.ref();
    return this;
  }

  /** Lets the process end while listening. */
  unref(): this {
    this.#handle.unref();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

// Listeners for HTTP.
import type { OpenHandle } from "./open-handle.js";
import { endedBySignals } from "./foreground.js";
import { milliseconds } from "./times.js";

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
  /** The URL of the endpoint. Empty on descriptors. */
  readonly url: string;
  /** Empty on a Unix socket and on descriptors. */
  readonly host: string;
  /** 0 on a Unix socket and on descriptors. */
  readonly port: number;

  /** @internal */
  constructor(handle: OpenHandle, address: Address, deadlineMs: number) {
    this.#handle = handle;
    this.#deadlineMs = deadlineMs;
    this.url = address.url;
    this.host = address.host ?? "";
    this.port = address.port ?? 0;
  }

  /**
   * Stops listening. Calls in flight get `deadline` milliseconds (default: the server's
   * `drainDeadline`), then they are cancelled.
   */
  async close({ deadline = this.#deadlineMs }: { deadline?: number | undefined } = {}): Promise<void> {
    await this.#handle.close(milliseconds(deadline, "deadline"));
  }

  /**
   * Serves in the foreground: fulfilled once the listener has closed. SIGINT and SIGTERM close it,
   * where the program does not handle them itself; calls in flight get `drainDeadline`. A second
   * signal ends the process at once. A handler that blocks the event loop for all that time does
   * not keep the process: it exits with status 1.
   */
  async run(): Promise<void> {
    const serve = (areHandled: boolean): Promise<unknown> => {
      if (areHandled) this.#handle.shareSignals();
      return this.#handle.end;
    };
    await endedBySignals(serve, () => this.close());
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

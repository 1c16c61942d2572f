// A server inside a web framework, opened with the first request.
import { thrownBy } from "../errors.js";
import { ClosedError, InternalError } from "../generated/errors.js";
import type { HttpHead } from "../generated/messages.js";
import type { Exchange, Receiver, ResponseHead } from "./exchanges.js";
import { logError } from "../log.js";
import type { OpenHandle } from "../open-handle.js";
import { outside, port } from "../port.js";

/** The default of the option. */
const DEFAULT_WRITE_TIMEOUT = 60_000;
/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Mount {
  #listener: Promise<OpenHandle> | undefined;
  /** Maximum time for which a client reads nothing, in milliseconds. */
  readonly writeTimeout: number;

  /** `open` opens the listener. */
  constructor(
    readonly path: string | undefined,
    writeTimeout: number | undefined,
    private readonly open: () => Promise<OpenHandle>,
  ) {
    this.writeTimeout = Math.min(Math.max(writeTimeout ?? DEFAULT_WRITE_TIMEOUT, 1), MAX_TIMER_MS);
  }

  /**
   * Passes a request to the core. Rejects if the server is closed or an option is invalid. Resolves
   * to undefined if the request is optional and nothing is served at its path.
   */
  async request(head: HttpHead, receiver: Receiver): Promise<Exchange | undefined> {
    // The listener serves many requests, and must not keep the context of the first.
    this.#listener ??= outside(() => this.#opened());
    const { handle } = await this.#listener;
    return port().exchanges.start(handle, head, receiver);
  }

  async #opened(): Promise<OpenHandle> {
    const reset = (): undefined => (this.#listener = undefined);
    try {
      const listener = await this.open();
      // The framework's sockets keep the process alive.
      listener.unref();
      void listener.end.then(reset);
      return listener;
    } catch (error) {
      reset();
      if (error instanceof ClosedError) throw error;
      // The reason is for the operator, not for the client.
      logError("could not open the server", { detail: thrownBy(error).message });
      throw new InternalError("Internal Server Error", { cause: error });
    }
  }
}

/** Returns whether a truncated response can be recognized by its length. */
export function hasLength(head: ResponseHead | undefined): boolean {
  return head?.headers.some(([name]) => name === "content-length") ?? false;
}

/** Returns the response of a server that is closed or failed to open. */
export function unavailable(error: Error): Pick<ResponseHead, "status" | "headers"> & { text: string } {
  const isClosed = error instanceof ClosedError;
  const type: [string, string] = ["content-type", "text/plain; charset=utf-8"];
  return { status: isClosed ? 503 : 500, headers: isClosed ? [type, ["connection", "close"]] : [type], text: error.message };
}

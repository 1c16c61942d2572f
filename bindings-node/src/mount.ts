// A server inside a web framework. Nothing is opened before the first request.
import { ClosedError } from "./errors.js";
import type { Exchange, Receiver, RequestHead, ResponseHead } from "./exchanges.js";
import { runtime } from "./runtime.js";
import type { Session } from "./session.js";

export class Mount {
  readonly path: string | undefined;
  readonly #open: () => Promise<Session>;
  #session: Promise<Session> | undefined;

  /** `open` opens what the options say. */
  constructor(path: string | undefined, open: () => Promise<Session>) {
    this.path = path;
    this.#open = open;
  }

  /**
   * Gives a request to the core; rejected if the server is closed, or the options are wrong. With `optional` it is not taken, and this gives nothing,
   * where nothing is served.
   */
  async request(head: RequestHead, receiver: Receiver): Promise<Exchange>;
  async request(head: RequestHead & { optional: boolean }, receiver: Receiver): Promise<Exchange | undefined>;
  async request(head: RequestHead & { optional?: boolean }, receiver: Receiver): Promise<Exchange | undefined> {
    this.#session ??= this.#opened();
    const { handle } = await this.#session;
    return runtime().exchanges.start(handle, head, receiver);
  }

  async #opened(): Promise<Session> {
    const forget = (): void => {
      this.#session = undefined;
    };
    try {
      const session = await this.#open();
      // The framework's sockets keep the process alive.
      session.unref();
      void session.end.then(forget);
      return session;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/** Whether a response that broke off shows it: one without a length may end anywhere. */
export function hasLength({ headers }: ResponseHead): boolean {
  return headers.some(([name]) => name === "content-length");
}

/** What is told if there is no response: only a server that is closed has none. */
export function unavailable(error: Error): { status: number; text: string } {
  return { status: error instanceof ClosedError ? 503 : 500, text: error.message };
}

import type { Session } from "./session.js";
import { milliseconds } from "./times.js";

/** What the core says of a listener. */
export interface Address {
  url: string;
  host?: string;
  port?: number;
}

/** A server that listens for HTTP. */
export class Listener {
  readonly #session: Session;
  readonly #deadlineMs: number;
  /** Where clients connect to. */
  readonly url: string;
  /** Empty on a Unix socket. */
  readonly host: string;
  /** 0 on a Unix socket. */
  readonly port: number;

  /** @internal */
  constructor(session: Session, address: Address, deadlineMs: number) {
    this.#session = session;
    this.#deadlineMs = deadlineMs;
    this.url = address.url;
    this.host = address.host ?? "";
    this.port = address.port ?? 0;
  }

  /** Stops listening. Calls in flight get `deadline` milliseconds (the server's `drainDeadline` by default), then they are cancelled. */
  async close({ deadline = this.#deadlineMs }: { deadline?: number } = {}): Promise<void> {
    await this.#session.close(milliseconds(deadline, "deadline"));
  }

  /** Keeps the event loop alive while listening. This is how a listener starts. */
  ref(): this {
    this.#session.ref();
    return this;
  }

  /** Lets the process end although this listens. */
  unref(): this {
    this.#session.unref();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

import { thrownBy } from "./errors.js";
import type { Implementation, JsonObject } from "./model.js";
import type { NativePort } from "./native.js";
import type { RequestOptions, Requests } from "./requests.js";

interface Facts {
  name: string;
  revision: string;
  clientInfo?: Implementation;
  clientCapabilities?: JsonObject;
  meta?: JsonObject;
  progress: boolean;
}

/** Ends the life of a context: the call was answered, or (with a reason) is no longer wanted. */
export let finish: (context: Context, cancelled?: string) => void;

/** What a handler knows about the call that it answers. */
export class Context {
  readonly #port: NativePort;
  readonly #requests: Requests;
  readonly #ticket: number;
  #open = true;
  #cancelled: string | undefined;
  #controller: AbortController | undefined;
  #facts: Facts | undefined;

  static {
    finish = (context, cancelled) => {
      context.#open = false;
      context.#cancelled = cancelled;
      if (cancelled !== undefined) context.#controller?.abort(abortReason(cancelled));
    };
  }

  /** @internal */
  constructor(port: NativePort, requests: Requests, ticket: number) {
    this.#port = port;
    this.#requests = requests;
    this.#ticket = ticket;
  }

  /** Aborted when the caller cancels the call, its connection ends, or the server closes. */
  get signal(): AbortSignal {
    // Most handlers never ask, and a controller costs more than the rest of the context.
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(abortReason(this.#cancelled));
    }
    return this.#controller.signal;
  }

  /** Reports progress to the caller, if it asked for it. Values must rise; others are dropped. */
  // It is async so that it can be awaited like every other message to the caller.
  // eslint-disable-next-line @typescript-eslint/require-await
  async progress(progress: number, total?: number, message?: string): Promise<void> {
    if (!this.#open) return;
    try {
      this.#port.notify(this.#ticket, JSON.stringify({ progress, total, message }));
    } catch (error) {
      // The call may have ended in the core a moment before this thread learns of it.
      if (!this.#port.cancelled(this.#ticket)) throw thrownBy(error);
    }
  }

  /**
   * Fulfilled when the caller answers; for 60 seconds without an answer, a {@link TimeoutError}. Callers of revision 2026-07-28 and later cannot be
   * asked: a {@link ProtocolError} with the code -32601.
   */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#requests.send(this.#ticket, "ping", undefined, options);
  }

  /** The name of the tool that is called. */
  get name(): string {
    return this.#described.name;
  }

  /** The protocol revision that the caller speaks. */
  get revision(): string {
    return this.#described.revision;
  }

  /** Who calls, if it said so. */
  get clientInfo(): Implementation | undefined {
    return this.#described.clientInfo;
  }

  /** What the caller can do. */
  get clientCapabilities(): JsonObject {
    return this.#described.clientCapabilities ?? {};
  }

  /** The `_meta` that came with the call. */
  get meta(): JsonObject {
    return this.#described.meta ?? {};
  }

  /** Whether the caller asked for progress; otherwise none is sent. */
  get wantsProgress(): boolean {
    return this.#described.progress;
  }

  get #described(): Facts {
    try {
      return (this.#facts ??= JSON.parse(this.#port.describe(this.#ticket)) as Facts);
    } catch (error) {
      throw thrownBy(error);
    }
  }
}

function abortReason(text: string): DOMException {
  return new DOMException(text === "" ? "the call was cancelled" : `the call was cancelled: ${text}`, "AbortError");
}

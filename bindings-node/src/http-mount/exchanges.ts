// HTTP exchanges: requests from a web framework, and the core's responses.
import { errorOf } from "../errors.js";
import type { TrunklineError } from "../generated/errors.js";
import type { HttpHead } from "../generated/messages.js";
import { EventKind } from "../generated/waist.js";
import type { NativePort } from "../native/native.js";
import { CallScope, type CallScopes } from "../scope.js";

export interface ResponseHead {
  status: number;
  headers: [name: string, value: string][];
  /** True if no chunk follows. */
  empty: boolean;
}

/** Receives a response. */
export interface Receiver {
  head(head: ResponseHead): void;
  /** More chunks follow once credit for these bytes is granted. */
  chunk(bytes: Uint8Array): void;
  /** Ends the response, with an error if it is incomplete. */
  end(error?: TrunklineError): void;
}

/** An exchange. After it has ended, its functions have no effect. */
export type Exchange = NonNullable<ReturnType<Exchanges["start"]>>;

const nothing = new Uint8Array();

export class Exchanges {
  readonly #receivers = new Map<number, Receiver>();

  constructor(
    private readonly core: NativePort,
    private readonly scopes: CallScopes,
  ) {}

  /**
   * Passes a request to a mounted listener. Returns `undefined` if the request is optional and
   * nothing is served at its path. The receiver gets the response in a later turn of the event
   * loop.
   */
  start(listener: number, head: HttpHead, receiver: Receiver) {
    const { core } = this;
    const ticket = core.httpRequest(listener, JSON.stringify(head), false);
    if (ticket === 0) return undefined;
    this.#receivers.set(ticket, receiver);
    this.scopes.set(ticket, new CallScope());
    core.ref();
    return {
      /** Sends a part of the body. Returns false if the rest is not needed. */
      body: (bytes: Uint8Array) => core.httpBody(ticket, bytes, false),
      /** Ends the body. */
      bodyEnd: () => core.httpBody(ticket, nothing, true),
      /** Grants credit for bytes that were passed on. */
      grant: (bytes: number) => core.httpCredit(ticket, bytes),
      /** Cancels the exchange, because the client has disconnected. */
      cancel: () => core.cancel(ticket, "the client has disconnected"),
    };
  }

  /** Dispatches an event. */
  receive(kind: number, ticket: number, ok: boolean, body: string | Uint8Array): void {
    const receiver = this.#receivers.get(ticket);
    if (!receiver) return;
    if (kind === EventKind.HttpHead) receiver.head(JSON.parse(body as string) as ResponseHead);
    else if (kind === EventKind.HttpChunk) receiver.chunk(body as Uint8Array);
    else {
      this.#receivers.delete(ticket);
      this.core.unref();
      receiver.end(ok ? undefined : errorOf(body as string));
    }
  }
}

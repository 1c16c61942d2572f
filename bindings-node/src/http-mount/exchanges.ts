// HTTP exchanges: requests from a web framework, and the core's responses.
import { attempt, errorOf } from "../errors.js";
import type { TrunklineError } from "../generated/errors.js";
import { EventKind } from "../generated/waist.js";
import type { NativePort } from "../native/native.js";
import type { KeepAlive } from "../requests.js";
import { CallScope, type CallScopes } from "../scope.js";

/** The head of a request. Header names and values have one character per byte. */
export interface RequestHead {
  method: string;
  /** The path as sent, without the query. */
  path: string;
  query?: string;
  headers: (readonly [name: string, value: string])[];
  /** The IP address of the peer, if known. */
  remoteAddress?: string | undefined;
}

export interface ResponseHead {
  status: number;
  headers: [name: string, value: string][];
  /** True if no chunk follows. */
  empty: boolean;
}

/** Receives a response. */
export interface Receiver {
  head(head: ResponseHead): void;
  /** More chunks arrive once these bytes are granted again. */
  chunk(bytes: Uint8Array): void;
  /** Ends the response, with an error if it is incomplete. */
  end(error?: TrunklineError): void;
}

const nothing = new Uint8Array();

export class Exchanges {
  readonly #port: NativePort;
  readonly #keepAlive: KeepAlive;
  readonly #receivers = new Map<number, Receiver>();
  readonly #scopes: CallScopes;

  constructor(port: NativePort, keepAlive: KeepAlive, scopes: CallScopes) {
    this.#port = port;
    this.#keepAlive = keepAlive;
    this.#scopes = scopes;
  }

  /**
   * Passes a request to a mounted listener. Returns `undefined` if the request is optional and
   * nothing is served at its path. The receiver gets the response in a later turn of the event
   * loop.
   */
  start(listener: number, head: RequestHead & { optional?: boolean }, receiver: Receiver): Exchange | undefined {
    const json = JSON.stringify(head);
    const ticket = attempt(() => this.#port.httpRequest(listener, json, false));
    if (ticket === 0) return undefined;
    this.#receivers.set(ticket, receiver);
    this.#scopes.set(ticket, new CallScope());
    this.#keepAlive.ref();
    return new Exchange(this.#port, ticket);
  }

  /** Dispatches an event. */
  receive(kind: number, ticket: number, ok: boolean, body: string | Uint8Array): void {
    const receiver = this.#receivers.get(ticket);
    if (!receiver) return;
    if (kind === EventKind.HttpHead) receiver.head(JSON.parse(body as string) as ResponseHead);
    else if (kind === EventKind.HttpChunk) receiver.chunk(body as Uint8Array);
    else {
      this.#receivers.delete(ticket);
      this.#keepAlive.unref();
      receiver.end(ok ? undefined : errorOf(body as string));
    }
  }
}

/** An exchange. After it has ended, its methods have no effect. */
export class Exchange {
  readonly #port: NativePort;
  readonly #ticket: number;

  constructor(port: NativePort, ticket: number) {
    this.#port = port;
    this.#ticket = ticket;
  }

  /** Sends a part of the body. Returns false if the rest is not wanted. */
  body(bytes: Uint8Array): boolean {
    return attempt(() => this.#port.httpBody(this.#ticket, bytes, false));
  }

  /** Ends the body. */
  bodyEnd(): void {
    attempt(() => this.#port.httpBody(this.#ticket, nothing, true));
  }

  /** Grants credit for bytes that were passed on. */
  grant(bytes: number): void {
    attempt(() => {
      this.#port.httpCredit(this.#ticket, bytes);
    });
  }

  /** Cancels the exchange, because the client has disconnected. */
  cancel(): void {
    attempt(() => {
      this.#port.cancel(this.#ticket, "the client has disconnected");
    });
  }
}

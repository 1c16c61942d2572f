// Requests that a web framework brought: the core answers them, as fast as the response is taken.
import { attempt, errorOf, stringify, type TrunklineError } from "./errors.js";
import type { NativePort } from "./native.js";
import type { Keeper } from "./requests.js";

/** The head of a request; names and values of headers have one character for each byte. */
export interface RequestHead {
  method: string;
  /** As it was sent, without the query. */
  path: string;
  query?: string;
  headers: (readonly [name: string, value: string])[];
}

export interface ResponseHead {
  status: number;
  headers: [name: string, value: string][];
  /** No chunk follows. */
  empty: boolean;
}

/** Whoever passes the response on. */
export interface Receiver {
  head(head: ResponseHead): void;
  /** Further ones come when these bytes were granted again. */
  chunk(bytes: Uint8Array): void;
  /** With an error, if the response is not complete. */
  end(error?: TrunklineError): void;
}

/** The kinds of events, by the numbers of the contract. */
const Kind = { HttpHead: 7, HttpChunk: 8, HttpEnd: 9 } as const;

const nothing = new Uint8Array();

export class Exchanges {
  readonly #port: NativePort;
  readonly #keeper: Keeper;
  readonly #receivers = new Map<number, Receiver>();

  constructor(port: NativePort, keeper: Keeper) {
    this.#port = port;
    this.#keeper = keeper;
  }

  /** Gives a request to a mounted listener, which may not want it; the receiver hears of the response from the next turn of the event loop on. */
  start(listener: number, head: RequestHead & { optional?: boolean }, receiver: Receiver): Exchange | undefined {
    const json = stringify(head, "the head of the request");
    const ticket = attempt(() => this.#port.httpRequest(listener, json, false));
    if (ticket === 0) return undefined;
    this.#receivers.set(ticket, receiver);
    this.#keeper.hold();
    return new Exchange(this.#port, ticket);
  }

  /** Takes an event. */
  heard(kind: number, ticket: number, ok: boolean, body: string | Uint8Array): void {
    const receiver = this.#receivers.get(ticket);
    if (!receiver) return;
    if (kind === Kind.HttpHead) receiver.head(JSON.parse(body as string) as ResponseHead);
    else if (kind === Kind.HttpChunk) receiver.chunk(body as Uint8Array);
    else {
      this.#receivers.delete(ticket);
      this.#keeper.release();
      receiver.end(ok ? undefined : errorOf(body as string));
    }
  }
}

/** A request that is being answered. What is said of one that is over has no effect. */
export class Exchange {
  readonly #port: NativePort;
  readonly #ticket: number;

  constructor(port: NativePort, ticket: number) {
    this.#port = port;
    this.#ticket = ticket;
  }

  /** A piece of the body; `false` if the rest is not wanted. */
  body(bytes: Uint8Array): boolean {
    return attempt(() => this.#port.httpBody(this.#ticket, bytes, false));
  }

  /** The body is over. */
  bodyEnd(): void {
    attempt(() => this.#port.httpBody(this.#ticket, nothing, true));
  }

  /** So many bytes were passed on. */
  grant(bytes: number): void {
    attempt(() => {
      this.#port.httpCredit(this.#ticket, bytes);
    });
  }

  /** The client is gone. */
  cancel(): void {
    attempt(() => {
      this.#port.cancel(this.#ticket, "the client has gone away");
    });
  }
}

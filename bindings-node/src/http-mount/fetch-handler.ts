// A server as a handler of web-standard requests, as in Hono.
import { invalid } from "../errors.js";
import { CancelledError, ClosedError, type TrunklineError } from "../generated/errors.js";
import type { HttpHead } from "../generated/messages.js";
import type { Exchange, Receiver, ResponseHead } from "./exchanges.js";
import { hasLength, unavailable, type Mount } from "./mount.js";

/** Handles a web-standard request. */
export type FetchHandler = (request: Request) => Promise<Response>;

export function fetchHandler(mount: Mount): FetchHandler {
  return async (request) => {
    if (request.bodyUsed) throw invalid("the body of this request was already read: read a request.clone() instead, and pass the request to the server");
    let resolve!: (response: Response) => void;
    const response = new Promise<Response>((settle) => (resolve = settle));
    const builder = new ResponseBuilder(request, resolve, mount.writeTimeout);
    try {
      const exchange = await mount.request(headOf(request), builder);
      if (exchange) builder.start(exchange);
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
      builder.end(error);
    }
    return response;
  };
}

function headOf({ method, url, headers }: Request): HttpHead {
  const { pathname, search, host } = new URL(url);
  const pairs = [...headers];
  // On some platforms, only the URL contains the host.
  if (!headers.has("host")) pairs.push(["host", host]);
  return { method, path: pathname, query: search.slice(1), headers: pairs };
}

/** Cancels exchanges whose response was dropped before its end, for example by a middleware. */
const dropped = new FinalizationRegistry<Exchange>((exchange) => exchange.cancel());

/** Builds a web-standard response, at the pace of its reader. */
class ResponseBuilder implements Receiver {
  #exchange: Exchange | undefined;
  #head: ResponseHead | undefined;
  /** Chunks that the reader has not yet pulled, bounded by the credit. */
  readonly #chunks: Uint8Array[] = [];
  /** Set until the body has ended. Weak, so that a dropped response can be collected. */
  #body: WeakRef<ReadableStreamDefaultController<Uint8Array>> | undefined;
  /** Set while a reader waits for the next chunk or the end. */
  #reader: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Runs while no reader waits for what is there. */
  #deadline: NodeJS.Timeout | undefined;
  #ended = false;
  #error: TrunklineError | undefined;
  readonly #cancel = (): void => this.#exchange?.cancel();

  /** `resolve` keeps the response alive, so it is dropped once called. */
  constructor(
    private readonly request: Request,
    private resolve: ((response: Response) => void) | undefined,
    private readonly writeTimeout: number,
  ) {}

  start(exchange: Exchange): void {
    const { body, signal } = this.request;
    this.#exchange = exchange;
    if (signal.aborted) this.#cancel();
    signal.addEventListener("abort", this.#cancel, { once: true });
    if (body) feed(exchange, body).catch(this.#cancel);
    else exchange.bodyEnd();
  }

  head(head: ResponseHead): void {
    this.#head = head;
    const { status, headers, empty } = head;
    this.#respond(new Response(empty ? null : this.#stream(), { status, headers: new Headers(headers) }));
  }

  chunk(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#deliver();
  }

  end(error?: TrunklineError): void {
    this.#ended = true;
    this.#error = error;
    this.request.signal.removeEventListener("abort", this.#cancel);
    this.#deliver();
    if (this.#head || !error) return;
    // A disconnected client reads no response, but a framework would report a rejection.
    const { text, ...head } = error instanceof CancelledError ? { status: 499, headers: [], text: "" } : unavailable(error);
    this.#respond(new Response(text, head));
  }

  #respond(response: Response): void {
    this.resolve?.(response);
    this.resolve = undefined;
  }

  #stream(): ReadableStream<Uint8Array> {
    const start = (body: ReadableStreamDefaultController<Uint8Array>): void => {
      this.#body = new WeakRef(body);
    };
    const pull = (reader: ReadableStreamDefaultController<Uint8Array>): void => {
      this.#reader = reader;
      this.#deliver();
    };
    const cancel = (): void => {
      this.#finish();
      this.#cancel();
    };
    const stream = new ReadableStream({ start, pull, cancel }, { highWaterMark: 0 });
    if (this.#exchange) dropped.register(stream, this.#exchange);
    return stream;
  }

  /** Passes one chunk to a waiting reader, and only then grants credit for more. */
  #deliver(): void {
    if (!this.#body || (this.#chunks.length === 0 && !this.#ended)) return;
    const reader = this.#reader;
    if (!reader) {
      this.#deadline ??= setTimeout(() => this.#giveUp(), this.writeTimeout).unref();
      return;
    }
    this.#reader = undefined;
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#exchange?.grant(chunk.byteLength);
      reader.enqueue(chunk);
      this.#deliver();
    } else {
      this.#finish();
      if (this.#error && hasLength(this.#head)) reader.error(this.#error);
      else reader.close();
    }
  }

  /** Ends the body of a client that reads nothing, which web servers would wait for forever. */
  #giveUp(): void {
    const body = this.#body?.deref();
    this.#finish();
    this.#cancel();
    body?.error(new ClosedError("the client has read nothing for the write timeout"));
  }

  #finish(): void {
    this.#body = undefined;
    this.#reader = undefined;
    clearTimeout(this.#deadline);
    this.#chunks.length = 0;
  }
}

async function feed(exchange: Exchange, body: ReadableStream<Uint8Array>): Promise<void> {
  // Returning cancels the rest.
  for await (const chunk of body) if (!exchange.body(chunk)) return;
  exchange.bodyEnd();
}

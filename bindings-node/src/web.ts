// A server for everything that speaks web-standard requests and responses, such as Hono.
import { CancelledError, ClosedError, invalid, type TrunklineError } from "./errors.js";
import type { Exchange, Receiver, RequestHead, ResponseHead } from "./exchanges.js";
import { hasLength, unavailable, type Mount } from "./mount.js";

/** Answers a web-standard request. */
export type FetchHandler = (request: Request) => Promise<Response>;

export function fetchHandler(mount: Mount): FetchHandler {
  return async (request) => {
    if (request.bodyUsed) throw invalid("the body of this request has been read already: read a request.clone() instead, and give the server the request");
    const answering = new Answering();
    try {
      answering.start(await mount.request(headOf(request), answering), request);
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
      answering.end(error);
    }
    return answering.response;
  };
}

function headOf({ method, url, headers }: Request): RequestHead {
  const { pathname, search, host } = new URL(url);
  const pairs = [...headers];
  // The name that was asked for must be seen even where a platform keeps it in the URL only.
  if (!headers.has("host")) pairs.push(["host", host]);
  return { method, path: pathname, query: search.slice(1), headers: pairs };
}

/** Passes a response on to the one who reads its stream. */
class Answering implements Receiver {
  readonly response: Promise<Response>;
  #resolve!: (response: Response) => void;
  #exchange: Exchange | undefined;
  #head: ResponseHead | undefined;
  /** What was not asked for yet; bounded, for chunks need credit. */
  readonly #chunks: Uint8Array[] = [];
  #ended = false;
  #error: TrunklineError | undefined;
  /** Someone waits for the next chunk or the end. */
  #asked: (() => void) | undefined;
  #cleanUp: (() => void) | undefined;

  constructor() {
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(exchange: Exchange, { body, signal }: Request): void {
    this.#exchange = exchange;
    const gone = (): void => {
      exchange.cancel();
    };
    if (signal.aborted) gone();
    signal.addEventListener("abort", gone, { once: true });
    this.#cleanUp = () => {
      signal.removeEventListener("abort", gone);
    };
    if (body) feed(exchange, body).catch(gone);
    else exchange.bodyEnd();
  }

  head(head: ResponseHead): void {
    this.#head = head;
    const { status, headers, empty } = head;
    this.#resolve(new Response(empty ? null : this.#stream(), { status, headers: new Headers(headers) }));
  }

  chunk(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#asked?.();
  }

  end(error?: TrunklineError): void {
    this.#ended = true;
    this.#error = error;
    this.#cleanUp?.();
    this.#asked?.();
    if (this.#head || !error) return;
    // Nobody reads what a client that is gone is told, but frameworks take an error here for one of their own.
    const { status, text } = error instanceof CancelledError ? { status: 499, text: "" } : unavailable(error);
    this.#resolve(new Response(text, { status }));
  }

  /** Chunks are handed out one by one as they are read, and only then is more asked for. */
  #stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (this.#chunks.length === 0 && !this.#ended) {
            await new Promise<void>((resolve) => {
              this.#asked = resolve;
            });
            this.#asked = undefined;
          }
          const chunk = this.#chunks.shift();
          if (chunk) {
            this.#exchange?.grant(chunk.byteLength);
            controller.enqueue(chunk);
          } else if (this.#error && this.#head && hasLength(this.#head)) controller.error(this.#error);
          else controller.close();
        },
        cancel: () => {
          this.#exchange?.cancel();
          // Whoever waited for the next chunk must not wait for ever.
          this.#asked?.();
        },
      },
      { highWaterMark: 0 },
    );
  }
}

async function feed(exchange: Exchange, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (exchange.body(read.value)) continue;
    await reader.cancel();
    return;
  }
  exchange.bodyEnd();
}

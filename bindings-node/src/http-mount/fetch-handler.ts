// A server as a handler of web-standard requests, as in Hono.
import { invalid } from "../errors.js";
import { CancelledError, ClosedError, type TrunklineError } from "../generated/errors.js";
import type { Exchange, Receiver, RequestHead, ResponseHead } from "./exchanges.js";
import { hasLength, unavailable, type Mount } from "./mount.js";

/** Handles a web-standard request. */
export type FetchHandler = (request: Request) => Promise<Response>;

export function fetchHandler(mount: Mount): FetchHandler {
  return async (request) => {
    if (request.bodyUsed) throw invalid("the body of this request was already read: read a request.clone() instead, and pass the request to the server");
    const builder = new ResponseBuilder();
    try {
      builder.start(await mount.request(headOf(request), builder), request);
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
      builder.end(error);
    }
    return builder.response;
  };
}

function headOf({ method, url, headers }: Request): RequestHead {
  const { pathname, search, host } = new URL(url);
  const pairs = [...headers];
  // On some platforms, only the URL contains the host.
  if (!headers.has("host")) pairs.push(["host", host]);
  return { method, path: pathname, query: search.slice(1), headers: pairs };
}

/** Builds a web-standard response, at the speed of its reader. */
class ResponseBuilder implements Receiver {
  readonly response: Promise<Response>;
  #resolve!: (response: Response) => void;
  #exchange: Exchange | undefined;
  #head: ResponseHead | undefined;
  /** Chunks that the reader has not yet pulled, bounded by the credit. */
  readonly #chunks: Uint8Array[] = [];
  #ended = false;
  #error: TrunklineError | undefined;
  /** Resumes a reader that waits for the next chunk or the end. */
  #resume: (() => void) | undefined;
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
    this.#resume?.();
  }

  end(error?: TrunklineError): void {
    this.#ended = true;
    this.#error = error;
    this.#cleanUp?.();
    this.#resume?.();
    if (this.#head || !error) return;
    // A disconnected client reads no response, but a framework would report a rejection.
    const { text, ...head } = error instanceof CancelledError ? { status: 499, headers: [], text: "" } : unavailable(error);
    this.#resolve(new Response(text, head));
  }

  /** Enqueues one chunk per pull, and only then grants credit for more. */
  #stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (this.#chunks.length === 0 && !this.#ended) {
            await new Promise<void>((resolve) => {
              this.#resume = resolve;
            });
            this.#resume = undefined;
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
          this.#resume?.();
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

// A server for node:http and the frameworks on top of it, such as Express.
import type { IncomingMessage, ServerResponse } from "node:http";

import { CancelledError, thrownBy, TrunklineError } from "./errors.js";
import type { Exchange, Receiver, RequestHead, ResponseHead } from "./exchanges.js";
import { hasLength, unavailable, type Mount } from "./mount.js";

/** Answers a request of `node:http`; as middleware, it leaves other paths than its own to `next`. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void;

export function nodeHandler(mount: Mount): NodeHandler {
  return (request, response, next) => {
    const head = headOf(request);
    if (next && mount.path !== undefined && !isAt(mount.path, head.path)) {
      next();
      return;
    }
    const answering = new Answering(response);
    mount.request(head, answering).then(
      (exchange) => {
        answering.start(exchange, request);
      },
      (error: unknown) => {
        if (next) next(error);
        else answering.end(error instanceof TrunklineError ? error : thrownBy(error));
      },
    );
  };
}

function headOf({ method = "GET", url = "/", rawHeaders }: IncomingMessage): RequestHead {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    // HTTP/2 has the host beside the headers.
    if (name === ":authority") headers.push(["host", value]);
    else if (!name.startsWith(":")) headers.push([name, value]);
  }
  const query = url.indexOf("?");
  if (query < 0) return { method, path: url, headers };
  return { method, path: url.slice(0, query), query: url.slice(query + 1), headers };
}

function isAt(path: string, asked: string): boolean {
  const bare = (text: string): string => text.replace(/^\/+|\/+$/g, "");
  return bare(path) === bare(asked);
}

/** Passes a response on to the socket, as fast as that takes it. */
class Answering implements Receiver {
  readonly #response: ServerResponse;
  #head: ResponseHead | undefined;
  #exchange: Exchange | undefined;
  #ended = false;
  /** Bytes that wait for the socket. */
  #owed = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  start(exchange: Exchange, request: IncomingMessage): void {
    this.#exchange = exchange;
    const gone = (): void => {
      if (!this.#ended) exchange.cancel();
    };
    this.#response.on("close", gone);
    // A socket that breaks is a client that is gone; the closing tells.
    this.#response.on("error", () => undefined);
    if (this.#response.destroyed) gone();
    else feed(exchange, request, gone);
  }

  head(head: ResponseHead): void {
    this.#head = head;
    const response = this.#response;
    if (response.headersSent) return;
    response.statusCode = head.status;
    const values = new Map<string, string[]>();
    for (const [name, value] of head.headers) values.set(name, [...(values.get(name) ?? []), value]);
    for (const [name, [first = "", ...others]] of values) response.setHeader(name, others.length === 0 ? first : [first, ...others]);
    // A stream may be silent for long, and its client waits for the head.
    if (!hasLength(head)) response.flushHeaders();
  }

  chunk(bytes: Uint8Array): void {
    if (this.#response.destroyed) return;
    if (this.#response.write(bytes)) {
      this.#exchange?.grant(bytes.byteLength);
      return;
    }
    if (this.#owed === 0) {
      this.#response.once("drain", () => {
        const owed = this.#owed;
        this.#owed = 0;
        this.#exchange?.grant(owed);
      });
    }
    this.#owed += bytes.byteLength;
  }

  end(error?: TrunklineError): void {
    this.#ended = true;
    const response = this.#response;
    if (error instanceof CancelledError || (error && this.#head && hasLength(this.#head))) {
      // What is missing must show.
      response.destroy();
    } else if (error && !this.#head) {
      const { status, text } = unavailable(error);
      response.statusCode = status;
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.end(text);
    } else response.end();
  }
}

/** Takes the body of a request to the core. Where a framework has read it already, what it made of it is written again. */
function feed(exchange: Exchange, request: IncomingMessage, gone: () => void): void {
  const { body } = request as { body?: unknown };
  if (body !== undefined && request.readableDidRead) {
    if (exchange.body(bytesOf(body))) exchange.bodyEnd();
    return;
  }
  request.on("data", (chunk: Uint8Array) => {
    if (!exchange.body(chunk)) request.pause();
  });
  request.on("end", () => {
    exchange.bodyEnd();
  });
  request.on("error", gone);
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

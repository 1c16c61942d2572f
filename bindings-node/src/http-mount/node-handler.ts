// A server as a handler for node:http and frameworks based on it, such as Express.
import type { IncomingMessage, ServerResponse } from "node:http";

import { invalid, thrownBy } from "../errors.js";
import { CancelledError, ClosedError, type TrunklineError } from "../generated/errors.js";
import type { HttpHead } from "../generated/messages.js";
import { stringify } from "../json.js";
import type { Exchange, Receiver, ResponseHead } from "./exchanges.js";
import { hasLength, unavailable, type Mount } from "./mount.js";

/**
 * Handles a request of `node:http`. As middleware, it passes requests for other paths to `next`.
 */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void;

export function nodeHandler(mount: Mount): NodeHandler {
  return (request, response, next) => void serve(mount, request, response, next);
}

async function serve(mount: Mount, request: IncomingMessage, response: ServerResponse, next: Parameters<NodeHandler>[2]): Promise<void> {
  const head = headOf(request);
  const writer = new ResponseWriter(response, mount.writeTimeout);
  try {
    const exchange = await mount.request({ ...head, optional: next !== undefined }, writer);
    if (exchange) {
      writer.start(exchange, request);
      return;
    }
  } catch (error) {
    const isClosed = error instanceof ClosedError;
    if (isClosed && next && mount.path !== undefined && !isAt(mount.path, head.path)) next();
    else if (isClosed || !next) writer.fail(thrownBy(error));
    else next(error);
    return;
  }
  next?.();
}

/**
 * Reads the parsed headers: middleware may have changed them, and adapters of serverless platforms
 * have no raw ones, and numbers among the values.
 */
function headOf({ method = "GET", url = "/", headers: parsed, socket }: IncomingMessage): HttpHead {
  const headers: [string, string][] = [];
  for (const [name, value = []] of Object.entries<string | string[] | number | undefined>(parsed)) {
    // HTTP/2 has the host in a pseudo-header.
    if (name.startsWith(":") && name !== ":authority") continue;
    for (const one of [value].flat()) headers.push([name === ":authority" ? "host" : name, String(one)]);
  }
  const query = url.indexOf("?");
  const target = query < 0 ? { path: url } : { path: url.slice(0, query), query: url.slice(query + 1) };
  return { method, ...target, headers, remoteAddress: socket.remoteAddress };
}

function isAt(path: string, requested: string): boolean {
  const bare = (text: string): string => text.replace(/^\/+|\/+$/g, "");
  return bare(path) === bare(requested);
}

/** Writes a response to the socket, at the pace of the socket. */
class ResponseWriter implements Receiver {
  #head: ResponseHead | undefined;
  #exchange: Exchange | undefined;
  #ended = false;
  /** Written bytes whose credit is not granted yet. */
  #owed = 0;
  /** Runs while the client has yet to read what was written. */
  #deadline: NodeJS.Timeout | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly writeTimeout: number,
  ) {}

  /** Starts forwarding the body. If it cannot be read, cancels the exchange and throws. */
  start(exchange: Exchange, request: IncomingMessage): void {
    this.#exchange = exchange;
    const disconnected = (): void => {
      this.#wasRead();
      if (!this.#ended) exchange.cancel();
    };
    this.response.on("close", disconnected);
    this.response.on("drain", () => this.#grant());
    // A broken socket also closes, which cancels the exchange.
    this.response.on("error", () => undefined);
    // Only the stream of an HTTP/2 response says whether the client has disconnected.
    const { stream = this.response } = this.response as { stream?: { destroyed: boolean } };
    if (stream.destroyed) {
      disconnected();
      return;
    }
    try {
      feed(exchange, request, disconnected);
    } catch (error) {
      this.#ended = true;
      exchange.cancel();
      throw error;
    }
  }

  head(head: ResponseHead): void {
    if (this.#ended || this.response.headersSent) return;
    this.#head = head;
    this.#setHead(head);
    // The client waits for the head of a stream that may stay silent for a long time.
    if (!hasLength(head)) this.response.flushHeaders();
  }

  #setHead(head: Pick<ResponseHead, "status" | "headers">): void {
    this.response.statusCode = head.status;
    const values = new Map<string, string[]>();
    for (const [name, value] of head.headers) values.set(name, [...(values.get(name) ?? []), value]);
    // HTTP/2 has no such header.
    if (this.response.req.httpVersionMajor > 1) values.delete("connection");
    for (const [name, [first = "", ...others]] of values) this.response.setHeader(name, others.length === 0 ? first : [first, ...others]);
  }

  chunk(bytes: Uint8Array): void {
    if (this.#ended || this.response.destroyed) return;
    this.#owed += bytes.byteLength;
    if (this.response.write(bytes)) this.#grant();
    else this.#expectRead();
  }

  /** Disconnects a client that reads nothing, which `node:http` would wait for forever. */
  #expectRead(): void {
    // Later writes, such as of keep-alive events, do not prolong it.
    this.#deadline ??= setTimeout(() => {
      this.#deadline = undefined;
      const { req, socket } = this.response;
      // A pipelined response has no socket until those before it have ended.
      if (socket || req.httpVersionMajor > 1) this.response.destroy();
      else this.#expectRead();
    }, this.writeTimeout).unref();
  }

  #wasRead(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #grant(): void {
    this.#wasRead();
    this.#exchange?.grant(this.#owed);
    this.#owed = 0;
  }

  end(error?: TrunklineError): void {
    if (this.#ended) return;
    this.#ended = true;
    // Lets the client detect that the response is truncated.
    if (error instanceof CancelledError || (error && hasLength(this.#head))) this.response.destroy();
    else if (error && !this.#head) this.fail(error);
    else {
      this.response.end();
      if (!this.response.destroyed && this.response.writableLength > 0) this.#expectRead();
    }
  }

  /** Responds with an error in place of the core's response. */
  fail(error: Error): void {
    this.#ended = true;
    if (this.response.headersSent) return;
    const { text, ...head } = unavailable(error);
    this.#setHead(head);
    this.response.end(text);
  }
}

/** Passes the body of a request to the core. A body that was already parsed is serialized again. */
function feed(exchange: Exchange, request: IncomingMessage, disconnected: () => void): void {
  const { body } = request as { body?: unknown };
  // A parser that found no data has not read any, but the stream has ended.
  if (request.readableDidRead || request.readableEnded) {
    const { "transfer-encoding": encoding, "content-length": length = "0" } = request.headers;
    if (body === undefined && (encoding !== undefined || Number(length) > 0)) throw invalid(alreadyRead);
    if (body === undefined || exchange.body(bytesOf(body))) exchange.bodyEnd();
    return;
  }
  let wanted = true;
  // Unwanted data is still read: some clients read the response only after sending the last byte.
  request.on("data", (chunk: string | Uint8Array) => (wanted &&= exchange.body(bytesOf(chunk))));
  request.on("end", () => wanted && exchange.bodyEnd());
  request.on("error", disconnected);
}

const alreadyRead =
  "the body of this request was read before the handler was called: call handler(request, response) before anything reads the body, or put the parsed body " +
  "into request.body first (Fastify: request.raw.body = request.body; Koa: ctx.req.body = ctx.request.body)";

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  try {
    return Buffer.from(typeof body === "string" ? body : stringify(body as object, "request.body"));
  } catch (error) {
    if (!/: -?Infinity cannot/.test((error as Error).message)) throw error;
    const text = JSON.stringify(body, (_, value: unknown) => (value === Infinity || value === -Infinity ? tooLarge : value));
    return Buffer.from(text.replaceAll(`"${tooLarge}"`, "1e999"));
  }
}

/** A number that a parser reads as infinity. The core refuses it. */
const tooLarge = "1e999";

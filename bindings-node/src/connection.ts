// The connection of a client: its handle, and its requests in flight.
import { setTimeout as sleep } from "node:timers/promises";

import { invalid } from "./errors.js";
import { ClosedError, ProtocolError, TransportError } from "./generated/errors.js";
import type { CallToolResult } from "./generated/model.js";
import type { ConnectionDescription } from "./generated/operations.js";
import type { ChildOptions, InputOptions } from "./generated/options.js";
import { isTransport, type Transport } from "./generated/transport.js";
import { OpenHandle } from "./open-handle.js";
import type { CallOptions, OpenStream, RequestOptions, RequestSender, SenderOptions, SendOptions, ToolCallOptions } from "./requests.js";
import type { Schema } from "./schema/convert.js";
import { CallScope } from "./scope.js";
import { Server } from "./server.js";
import { Handlers } from "./server-requests.js";
import { maxTimerMs } from "./times.js";
import { expectation } from "./tool-results.js";

/** A program to start that serves over its stdin and stdout; also an entry of `mcpServers`. */
export interface ChildProcess extends ChildOptions {
  /** The transport; implied by `command`. */
  type?: "stdio" | undefined;
  /** The program: a path, or a name that is looked up in `PATH`. */
  command: string;
  /** Arguments of the program. */
  args?: readonly string[] | undefined;
}

/** A server at a URL; also an entry of `mcpServers`. */
export interface RemoteServer {
  /** The transport: Streamable HTTP unless it is `sse`. */
  type?: "http" | "streamable-http" | "sse" | undefined;
  /** The URL of the endpoint. */
  url: string;
  /** Headers to send with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Authorization for this server: an access token, `"oauth"` to log in, or OAuth options by their
   * JSON names (`docs/options.md`).
   */
  auth?: string | Readonly<Record<string, unknown>> | undefined;
}

/**
 * The target of a connection: a URL, a program (an array with its arguments), a server in this
 * process, a custom transport, an entry of `mcpServers`, or a configuration with one server (an
 * object or the path of its `.json` file). Entries can refer to environment variables as `${NAME}`
 * and `${NAME:-default}`.
 */
export type ConnectTarget = string | URL | readonly string[] | Server | Transport | ChildProcess | RemoteServer | { mcpServers: Readonly<Record<string, object>> };

/** Options of transports; each may be undefined. */
export type TransportOptions = Record<"http" | "child", object>;

/** The servers of a group. */
export class ServersOf {
  constructor(readonly servers: unknown) {}
}

export class Connection extends OpenHandle implements RequestSender {
  readonly handlers = new Handlers();
  receiveNotification?: (method: string, params: unknown) => void;
  /** Requests in flight to a server in this process, which waits for them when it closes. */
  readonly #inFlight = new Set<Promise<unknown>>();
  /** Rejects requests with an in-process handler's error if its caller doesn't see it otherwise. */
  raiseExceptions = false;
  #inMemory = false;
  #closing = false;

  /** Connects and negotiates. Returns the core's result. */
  async connect(target: ConnectTarget | ServersOf, options: TransportOptions, config: object, signal: AbortSignal | undefined): Promise<unknown> {
    if (this.raiseExceptions && !(target instanceof Server)) throw invalid("raiseExceptions: only for a server in this process, because exceptions cannot cross process boundaries");
    const transport = target instanceof Server ? this.#toServer(target, options) : transportOf(target, options);
    return (await this.open({ ...config, transport }, signal)).result;
  }

  call(method: string, params: object | undefined, options: CallOptions): Promise<unknown> {
    return this.#send(method, options.meta === undefined ? params : { ...params, _meta: options.meta }, options);
  }

  notify(note: object): void {
    const span = "method" in note ? this.port.notifying(this.handle, note as { method: string }) : {};
    this.port.notify(this.handle, { ...note, ...span });
  }

  /** Returns what is currently known about the server; nothing once the connection has ended. */
  describe(): Partial<ConnectionDescription> {
    try {
      return JSON.parse(this.port.core.describe(this.handle)) as Partial<ConnectionDescription>;
    } catch {
      return {};
    }
  }

  async openStream(method: string, params: object, options: RequestOptions & InputOptions): Promise<OpenStream> {
    const { core, requests } = this.port;
    const { ticket, result } = requests.start(this.handle, method, params, options, this.#inMemory ? new CallScope() : undefined);
    return { result: await result, request: (name, more, about) => requests.send(ticket, name, about, more), cancel: () => core.cancel(ticket, "") };
  }

  async callTool(method: string, params: object, options: ToolCallOptions<Schema | undefined>): Promise<unknown> {
    const { expected, read } = expectation(options);
    return read((await this.call(method, params, { ...options, expected } as CallOptions)) as CallToolResult);
  }

  async list(method: string, member: string, options: RequestOptions): Promise<unknown> {
    return ((await this.#send(method, undefined, { ...options, all: true })) as Record<string, unknown>)[member];
  }

  async page(method: string, member: string, cursor: string | undefined, options: RequestOptions): Promise<unknown> {
    const page = (await this.#send(method, { cursor }, options)) as Record<string, unknown>;
    if (!Array.isArray(page[member])) throw new TransportError(`invalid response to ${method}: it has no array ${member}`);
    return page;
  }

  #send(method: string, params: object | undefined, options: SendOptions & SenderOptions): Promise<unknown> {
    return this.#inMemory ? this.#sendInMemory(method, params, options) : this.port.requests.send(this.handle, method, params, options);
  }

  async #sendInMemory(method: string, params: object | undefined, options: SendOptions & SenderOptions): Promise<unknown> {
    if (this.#closing) throw new ClosedError("the server is closed");
    const scope = new CallScope();
    const result = this.port.requests.send(this.handle, method, params, options, scope);
    this.#inFlight.add(result);
    try {
      await result;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    } finally {
      this.#inFlight.delete(result);
    }
    if (this.raiseExceptions && scope.failure?.internal) throw scope.failure.thrown;
    return result;
  }

  /** Connects to a server in this process. Closing the server closes the connection. */
  #toServer(server: Server, { http, child }: TransportOptions): object {
    refuse({ ...http, ...child }, "servers at a URL and child processes");
    this.#inMemory = true;
    const close = async (deadlineMs: number): Promise<void> => {
      this.#closing = true;
      // Requests in flight keep the event loop alive, so the timer need not.
      await Promise.race([Promise.allSettled(this.#inFlight), sleep(Math.min(deadlineMs, maxTimerMs), undefined, { ref: false })]);
      await this.close(0);
    };
    return { type: "memory", server: server.connectInMemory({ close, end: this.end }) };
  }
}

function transportOf(target: Exclude<ConnectTarget, Server> | ServersOf, { http, child }: TransportOptions): object {
  const url = typeof target === "string" || target instanceof URL ? String(target) : undefined;
  if (url !== undefined && (url.includes("://") || !url.endsWith(".json"))) {
    refuse(child, "programs");
    return { type: "http", url, ...http };
  }
  if (Array.isArray(target)) {
    refuse(http, "servers at a URL");
    return { type: "child", command: target as readonly string[], ...child };
  }
  // For the servers of a configuration, they are defaults.
  const defaults = { ...http, ...child };
  if (target instanceof ServersOf) return { type: "group", servers: target.servers, defaults };
  if (!isTransport(target)) return { type: "config", server: target, defaults };
  refuse(defaults, "servers at a URL and child processes");
  return { type: "channel" };
}

/** Rejects options that are for other targets. */
function refuse(options: object, targets: string): void {
  for (const [name, value] of Object.entries(options)) if (value !== undefined) throw invalid(`${name}: only for ${targets}`);
}

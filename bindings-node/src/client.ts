// Clients.
import { EventEmitter } from "node:events";

import { ClosedError, TransportError, type TrunklineError, invalid } from "./errors.js";
import type { CallToolResult, Implementation, JsonObject, Notification, Tool, ToolPage } from "./model.js";
import { OpenHandle } from "./open-handle.js";
import { port } from "./port.js";
import type { ListOptions, RequestOptions, SendOptions } from "./requests.js";
import { connectInMemory, Server } from "./server.js";
import { milliseconds, within } from "./times.js";

/** A protocol revision without negotiation, an era to negotiate within, or `auto` for both eras. */
export type Revision = "auto" | "legacy" | "modern" | "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

/** A program to start, which serves over its stdin and stdout. */
export interface ChildProcess {
  command: string;
  args?: readonly string[];
  /** Added to the environment of this process; the whole environment if `inheritEnv` is false. */
  env?: Readonly<Record<string, string>>;
  inheritEnv?: boolean;
  cwd?: string;
}

/** A URL, a program (an array with its arguments, or an object), or a server in this process. */
export type ConnectTarget = string | URL | ChildProcess | readonly string[] | Server;

/** All times are in milliseconds. */
export interface ConnectOptions {
  /** Who this client is. */
  info?: Implementation;
  revision?: Revision;
  /** For connecting and negotiating; 30 seconds. */
  connectTimeout?: number;
  /** For the question whether the server speaks the newest revision, in `auto`; 5 seconds. */
  probeTimeout?: number;
  /** For each request, renewed by progress; 60 seconds. */
  timeout?: number;
  /** For each request in all; 10 minutes. */
  maxTimeout?: number;
  /** Bytes of one message of the server; 64 MiB. */
  maxMessageBytes?: number;
  /** Sent with each HTTP request. */
  headers?: Readonly<Record<string, string>>;
  /**
   * Called when the server's tools have changed. On revision 2026-07-28 and later this subscribes to
   * changes, which over HTTP keeps a stream open.
   */
  onToolsChanged?: () => void;
  /** Called for each notification of the server, including those that come too early for the event. */
  onNotification?: (notification: Notification) => void;
  /** Gives up connecting. */
  signal?: AbortSignal;
}

export interface CallOptions extends SendOptions {
  /** The `_meta` of the call. */
  meta?: JsonObject;
}

// A type and not an interface, for only types fit the index signature of EventEmitter.
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions
export type ClientEvents = {
  /**
   * The server's tools have changed. Emitted only if `onToolsChanged` was passed to `connect`; adding
   * a listener otherwise throws.
   */
  toolsChanged: [];
  /** A notification of the server. The option `onNotification` also gets the earliest. */
  notification: [notification: Notification];
  /** The connection has closed, by `close` or with an error. */
  close: [error?: TrunklineError];
};

interface Opened {
  revision: string;
  serverInfo?: Implementation;
  capabilities?: JsonObject;
  instructions?: string;
}

/** A connection to a server. */
export class Client extends EventEmitter<ClientEvents> {
  readonly #port = port();
  readonly #connection = new OpenHandle((method, params) => {
    this.#receiveNotification(method, params as JsonObject);
  });
  #opened: Opened = { revision: "" };
  /** Requests in flight to a server in this process, which waits for them when it closes. */
  readonly #inFlight = new Set<Promise<unknown>>();
  #inMemory = false;
  #closing = false;

  /** Connects and negotiates. */
  static async connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client> {
    const { info, revision, connectTimeout, probeTimeout, timeout, maxTimeout, headers, onToolsChanged, onNotification, signal, ...limits } = options;
    const client = new Client(onToolsChanged, onNotification);
    const times = {
      connectTimeoutMs: milliseconds(connectTimeout, "connectTimeout"),
      probeTimeoutMs: milliseconds(probeTimeout, "probeTimeout"),
      timeoutMs: milliseconds(timeout, "timeout"),
      maxTimeoutMs: milliseconds(maxTimeout, "maxTimeout"),
    };
    const config = { info, revision, listen: onToolsChanged && true, options: { ...limits, ...times } };
    const transport = target instanceof Server ? client.#connectInMemory(target, headers) : transportOf(target, headers);
    client.#opened = (await client.#connection.open({ client: config, transport }, signal)) as Opened;
    return client;
  }

  private constructor(onToolsChanged: ConnectOptions["onToolsChanged"], onNotification: ConnectOptions["onNotification"]) {
    super();
    if (onNotification) this.on("notification", onNotification);
    if (onToolsChanged) this.on("toolsChanged", onToolsChanged);
    else (this as EventEmitter).on("newListener", refuseToolsChanged);
    void this.#connection.end.then((error) => this.emit("close", error));
  }

  /** The revision that was negotiated. */
  get revision(): string {
    return this.#opened.revision;
  }

  /** The server's name and version, if it gave them. Unknown if `revision` was 2026-07-28. */
  get serverInfo(): Implementation | undefined {
    return this.#opened.serverInfo;
  }

  /** The capabilities of the server, if it gave them. */
  get capabilities(): JsonObject {
    return this.#opened.capabilities ?? {};
  }

  /** How to use the server, for the model. */
  get instructions(): string | undefined {
    return this.#opened.instructions;
  }

  /** Lists all tools, from all pages. */
  async listTools(options: RequestOptions = {}): Promise<Tool[]> {
    const { tools } = (await this.#request("tools/list", undefined, { ...options, all: true })) as ToolPage;
    return tools;
  }

  /** Lists a page of tools: the first, or the one at a `nextCursor`. */
  async listToolsPage(cursor?: string, options: RequestOptions = {}): Promise<ToolPage> {
    const page = (await this.#request("tools/list", { cursor }, options)) as ToolPage;
    if (!Array.isArray(page.tools)) throw new TransportError("the server's answer to tools/list has no list of tools");
    return page;
  }

  /** Calls a tool. A tool that fails gives a result with `isError`. */
  async callTool(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    return (await this.#request("tools/call", { name, arguments: args, _meta: options.meta }, options)) as CallToolResult;
  }

  /** Fulfilled when the server responds. */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#request("ping", undefined, options);
  }

  /**
   * Closes the connection; requests in flight fail. A program that was started gets `deadline`
   * milliseconds to exit by itself (default: 2000).
   */
  async close({ deadline = 2000 }: { deadline?: number } = {}): Promise<void> {
    await this.#connection.close(milliseconds(deadline, "deadline"));
  }

  /** Keeps the event loop alive while connected, which is the default. */
  ref(): this {
    this.#connection.ref();
    return this;
  }

  /** Lets the process end while connected, unless a request is in flight. */
  unref(): this {
    this.#connection.unref();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #request(method: string, params: object | undefined, options: SendOptions & ListOptions): Promise<unknown> {
    const send = (): Promise<unknown> => this.#port.requests.send(this.#connection.handle, method, params, options);
    return this.#inMemory ? this.#sendInMemory(send) : send();
  }

  async #sendInMemory(send: () => Promise<unknown>): Promise<unknown> {
    if (this.#closing) throw new ClosedError("the server is closed");
    const result = send();
    this.#inFlight.add(result);
    try {
      return await result;
    } finally {
      this.#inFlight.delete(result);
    }
  }

  /** Connects to a server in this process, which closes the connection when it closes. */
  #connectInMemory(server: Server, headers: ConnectOptions["headers"]): object {
    if (headers) throw onlyForUrls();
    this.#inMemory = true;
    const closeWithin = async (deadlineMs: number): Promise<void> => {
      this.#closing = true;
      await within(deadlineMs, Promise.allSettled(this.#inFlight));
      await this.#connection.close(0);
    };
    return { type: "memory", server: connectInMemory(server, { closeWithin, end: this.#connection.end }) };
  }

  #receiveNotification(method: string, params: JsonObject): void {
    this.emit("notification", { method, params });
    if (method === "notifications/tools/list_changed") this.emit("toolsChanged");
  }
}

/** Refuses a listener of an event that would come or not depending on the server's revision. */
function refuseToolsChanged(event: string | symbol): void {
  if (event === "toolsChanged") throw invalid('the event "toolsChanged" needs the option onToolsChanged of Client.connect: newer servers tell only clients that asked when they connected');
}

function transportOf(target: Exclude<ConnectTarget, Server>, headers: ConnectOptions["headers"]): object {
  if (typeof target === "string" || target instanceof URL) return { type: "http", url: String(target), headers };
  if (headers) throw onlyForUrls();
  if (Array.isArray(target)) return { type: "child", command: target as readonly string[] };
  if (typeof target === "object" && "command" in target) {
    const { command, args = [], env, inheritEnv, cwd } = target;
    return { type: "child", command: [command, ...args], env, inheritEnv, cwd };
  }
  throw invalid("connect to a URL, a command (an array, or an object with command and args), or a Server");
}

function onlyForUrls(): Error {
  return invalid("headers are for connections to a URL");
}

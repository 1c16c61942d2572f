import { EventEmitter } from "node:events";

import { ClosedError, TransportError, type TrunklineError, invalid } from "./errors.js";
import type { CallToolResult, Implementation, JsonObject, Notification, Tool, ToolPage } from "./model.js";
import type { ListOptions, RequestOptions, SendOptions } from "./requests.js";
import { runtime } from "./runtime.js";
import { join, Server } from "./server.js";
import { Session } from "./session.js";
import { milliseconds, within } from "./times.js";

/** A revision of the protocol to speak without asking, an era to negotiate in, or `auto`, which finds out. */
export type Revision = "auto" | "legacy" | "modern" | "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

/** A program to start, whose stdin and stdout carry the protocol. */
export interface ChildProcess {
  command: string;
  args?: readonly string[];
  /** Added to the environment of this process, or all of it without `inheritEnv`. */
  env?: Readonly<Record<string, string>>;
  inheritEnv?: boolean;
  cwd?: string;
}

/** An endpoint, a program (as an array with its arguments, or as an object), or a server in this process. */
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
   * Called when the server's tools have changed. A server of revision 2026-07-28 or later tells only clients that asked when they connected, which
   * this does; over HTTP that costs a stream that stays open.
   */
  onToolsChanged?: () => void;
  /** Called for each notification of the server, from the first on: those that come with the end of the handshake are too early for the event. */
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
  /** The server's tools have changed. Heard only by clients that were connected with `onToolsChanged`; to listen without it is an error. */
  toolsChanged: [];
  /** Any notification of the server. The option `onNotification` misses none. */
  notification: [notification: Notification];
  /** The connection ended: by `close`, or by an error. */
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
  readonly #runtime = runtime();
  readonly #session = new Session((method, params) => {
    this.#notified(method, params as JsonObject);
  });
  #opened: Opened = { revision: "" };
  /** Requests in flight to a server of this process, which waits for them when it closes. */
  readonly #running = new Set<Promise<unknown>>();
  #local = false;
  #leaving = false;

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
    const about = { info, revision, listen: onToolsChanged && true, options: { ...limits, ...times } };
    const transport = target instanceof Server ? client.#join(target, headers) : transportOf(target, headers);
    client.#opened = (await client.#session.open({ client: about, transport }, signal)) as Opened;
    return client;
  }

  private constructor(onToolsChanged: ConnectOptions["onToolsChanged"], onNotification: ConnectOptions["onNotification"]) {
    super();
    if (onNotification) this.on("notification", onNotification);
    if (onToolsChanged) this.on("toolsChanged", onToolsChanged);
    else (this as EventEmitter).on("newListener", refuseToolsChanged);
    void this.#session.end.then((error) => this.emit("close", error));
  }

  /** The revision that was negotiated. */
  get revision(): string {
    return this.#opened.revision;
  }

  /** Who the server is, if it said so when it was connected to. Pinned to revision 2026-07-28, it was not asked. */
  get serverInfo(): Implementation | undefined {
    return this.#opened.serverInfo;
  }

  /** What the server can do, as far as it was asked. */
  get capabilities(): JsonObject {
    return this.#opened.capabilities ?? {};
  }

  /** How to use the server, for the model. */
  get instructions(): string | undefined {
    return this.#opened.instructions;
  }

  /** All tools, from all pages. */
  async listTools(options: RequestOptions = {}): Promise<Tool[]> {
    const { tools } = (await this.#request("tools/list", undefined, { ...options, all: true })) as ToolPage;
    return tools;
  }

  /** One page of tools: the first, or the one that `cursor` of the page before stands for. */
  async listToolsPage(cursor?: string, options: RequestOptions = {}): Promise<ToolPage> {
    const page = (await this.#request("tools/list", { cursor }, options)) as ToolPage;
    if (!Array.isArray(page.tools)) throw new TransportError("the server's answer to tools/list has no list of tools");
    return page;
  }

  /** Calls a tool. A tool that fails gives a result with `isError`. */
  async callTool(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    return (await this.#request("tools/call", { name, arguments: args, _meta: options.meta }, options)) as CallToolResult;
  }

  /** Fulfilled when the server answers. */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#request("ping", undefined, options);
  }

  /** Ends the connection and the requests in flight. A program that was started gets `deadline` milliseconds to end by itself (2000 by default). */
  async close({ deadline = 2000 }: { deadline?: number } = {}): Promise<void> {
    await this.#session.close(milliseconds(deadline, "deadline"));
  }

  /** Keeps the event loop alive while connected. This is how a client starts. */
  ref(): this {
    this.#session.ref();
    return this;
  }

  /** Lets the process end although this is connected, unless a request is in flight. */
  unref(): this {
    this.#session.unref();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #request(method: string, params: object | undefined, options: SendOptions & ListOptions): Promise<unknown> {
    const send = (): Promise<unknown> => this.#runtime.requests.send(this.#session.handle, method, params, options);
    return this.#local ? this.#locally(send) : send();
  }

  async #locally(send: () => Promise<unknown>): Promise<unknown> {
    if (this.#leaving) throw new ClosedError("the server is closed");
    const answer = send();
    this.#running.add(answer);
    try {
      return await answer;
    } finally {
      this.#running.delete(answer);
    }
  }

  /** Connects to a server of this process, which ends the connection when it closes. */
  #join(server: Server, headers: ConnectOptions["headers"]): object {
    if (headers) throw onlyForUrls();
    this.#local = true;
    const leave = async (deadlineMs: number): Promise<void> => {
      this.#leaving = true;
      await within(deadlineMs, Promise.allSettled(this.#running));
      await this.#session.close(0);
    };
    return { type: "memory", server: join(server, { leave }, this.#session.end) };
  }

  #notified(method: string, params: JsonObject): void {
    this.emit("notification", { method, params });
    if (method === "notifications/tools/list_changed") this.emit("toolsChanged");
  }
}

/** Without this, whether the event comes would depend on the revision that the server happens to speak. */
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

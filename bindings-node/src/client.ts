import { EventEmitter } from "node:events";

import { CancelledError, InvalidError, ProtocolError, type TrunklineError } from "./errors.js";
import type { CallToolResult, Implementation, JsonObject, Notification, Progress, Tool, ToolPage } from "./model.js";
import { runtime } from "./runtime.js";
import { handleOf, Server } from "./server.js";
import { aborted, Session } from "./session.js";

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

/** An endpoint, a program (with its arguments), or a server in this thread. */
export type ConnectTarget = string | URL | ChildProcess | readonly [command: string, ...args: string[]] | readonly string[] | Server;

/** All times are in milliseconds. */
export interface ConnectOptions {
  /** Who this client is. */
  info?: Implementation;
  revision?: Revision;
  /** For connecting and negotiating; 30 seconds. */
  connectTimeout?: number;
  /** For each request, renewed by progress; 60 seconds. */
  timeout?: number;
  /** For each request in all; 10 minutes. */
  maxTimeout?: number;
  /** Sent with each HTTP request. */
  headers?: Readonly<Record<string, string>>;
  /** Gives up connecting. */
  signal?: AbortSignal;
}

export interface RequestOptions {
  /** Cancels the request. */
  signal?: AbortSignal;
  /** Instead of the client's. */
  timeout?: number;
  /** Instead of the client's. */
  maxTimeout?: number;
}

export interface CallOptions extends RequestOptions {
  /** Asks for progress, and gets it. */
  onProgress?: (progress: Progress) => void;
}

// A type and not an interface, for only types fit the index signature of EventEmitter.
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions
export type ClientEvents = {
  /** The server's tools are not what they were. */
  toolsChanged: [];
  /** Any notification of the server. */
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

  /** Connects and negotiates. */
  static async connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client> {
    const { info, revision, connectTimeout, timeout, maxTimeout, headers, signal } = options;
    const client = new Client();
    const about = { info, revision, options: { connectTimeoutMs: connectTimeout, timeoutMs: timeout, maxTimeoutMs: maxTimeout } };
    client.#opened = (await client.#session.open({ client: about, transport: transportOf(target, headers) }, signal)) as Opened;
    return client;
  }

  private constructor() {
    super();
    void this.#session.end.then((error) => this.emit("close", error));
  }

  /** The revision that was negotiated. */
  get revision(): string {
    return this.#opened.revision;
  }

  get serverInfo(): Implementation | undefined {
    return this.#opened.serverInfo;
  }

  /** What the server can do. */
  get capabilities(): JsonObject {
    return this.#opened.capabilities ?? {};
  }

  /** How to use the server, for the model. */
  get instructions(): string | undefined {
    return this.#opened.instructions;
  }

  /** All tools, from all pages. */
  async listTools(options: RequestOptions = {}): Promise<Tool[]> {
    const tools: Tool[] = [];
    const seen = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.listToolsPage(cursor, options);
      tools.push(...page.tools);
      cursor = page.nextCursor;
      if (cursor === undefined) return tools;
      if (seen.has(cursor)) throw new ProtocolError("protocol", "the server's list of tools does not end: it gave the same cursor twice");
      seen.add(cursor);
    }
  }

  /** One page of tools: the first, or the one that `cursor` of the page before stands for. */
  async listToolsPage(cursor?: string, options: RequestOptions = {}): Promise<ToolPage> {
    return (await this.#request("tools/list", { cursor }, options)) as ToolPage;
  }

  /** Calls a tool. A tool that fails gives a result with `isError`. */
  async callTool(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    return (await this.#request("tools/call", { name, arguments: args }, options)) as CallToolResult;
  }

  /** Fulfilled when the server answers. */
  async ping(options: RequestOptions = {}): Promise<void> {
    await this.#request("ping", undefined, options);
  }

  /** Ends the connection and the requests in flight. A program that was started gets `deadline` milliseconds to end by itself (2000 by default). */
  async close({ deadline = 2000 }: { deadline?: number } = {}): Promise<void> {
    await this.#session.close(deadline);
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

  async #request(method: string, params: object | undefined, options: CallOptions): Promise<unknown> {
    const { signal, timeout, maxTimeout, onProgress } = options;
    if (signal?.aborted) throw aborted(signal);
    const request = { method, params, timeoutMs: timeout, maxTimeoutMs: maxTimeout, progress: onProgress && true };
    const { ticket, result } = this.#runtime.request(this.#session.handle, request, onProgress);
    if (!signal) return result;
    const abort = (): void => {
      this.#runtime.cancel(ticket, reasonOf(signal));
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await result;
    } catch (error) {
      throw error instanceof CancelledError ? aborted(signal) : error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #notified(method: string, params: JsonObject): void {
    this.emit("notification", { method, params });
    if (method === "notifications/tools/list_changed") this.emit("toolsChanged");
  }
}

function transportOf(target: ConnectTarget, headers: ConnectOptions["headers"]): object {
  if (typeof target === "string" || target instanceof URL) return { type: "http", url: String(target), headers };
  if (target instanceof Server) return { type: "memory", server: handleOf(target) };
  if (Array.isArray(target)) return { type: "child", command: target as readonly string[] };
  if (typeof target === "object" && "command" in target) {
    const { command, args = [], env, inheritEnv, cwd } = target;
    return { type: "child", command: [command, ...args], env, inheritEnv, cwd };
  }
  throw new InvalidError("invalid", "connect to a URL, a command (an array, or an object with command and args), or a Server");
}

/** What the server is told about why. */
function reasonOf(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason.message : String(reason);
}

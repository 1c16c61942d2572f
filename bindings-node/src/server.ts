import type { Context } from "./context.js";
import { ClosedError, invalid } from "./errors.js";
import { Listener } from "./listener.js";
import { nodeHandler, type NodeHandler } from "./middleware.js";
import type { CallToolResult, Icon, Implementation, JsonObject, ToolAnnotations } from "./model.js";
import { Mount, type MountOptions } from "./mount.js";
import { runtime } from "./runtime.js";
import { convert, needsWrap, wrap, type Arguments, type OutputInput, type Schema } from "./schema.js";
import { Session } from "./session.js";
import type { StandardSchemaV1 } from "./standard.js";
import { fetchHandler, type FetchHandler } from "./web.js";

/** Who the server is. */
export type ServerInfo = Implementation;

/** What a server says of itself, and its limits. All times are in milliseconds. */
export interface ServerOptions {
  /** How to use this server, for the model. */
  instructions?: string;
  /** Tools in one page of a list; 1000. */
  pageSize?: number;
  /** Shows callers why a handler failed, instead of a generic text; false. */
  debug?: boolean;
  /** Calls of one session that run at the same time; 64. */
  maxRunning?: number;
  /** Calls of one session that wait to run; 1024. */
  maxWaiting?: number;
  /** Bytes of one message; 64 MiB. */
  maxMessageBytes?: number;
  /** How deep JSON may be nested; 128. */
  maxNesting?: number;
  /** Sessions over HTTP at the same time; 10,000. */
  maxSessions?: number;
  /** After so long without a message a session over HTTP ends; 30 minutes. */
  sessionIdle?: number;
  /** What calls in flight get when the server closes; 5 seconds. */
  drainDeadline?: number;
  /** Between comments that keep a stream alive; 15 seconds. */
  keepAlive?: number;
}

/** What a tool says of itself. */
export interface ToolConfig<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined> {
  title?: string;
  description?: string;
  /** A JSON Schema or a Standard Schema. Without one the tool takes no arguments. */
  inputSchema?: I;
  outputSchema?: O;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: JsonObject;
  /** Capabilities that a client must have to call this, such as `{ sampling: {} }`. */
  requires?: JsonObject;
}

/**
 * Answers calls of a tool. What it returns becomes the result: a string is text; content blocks are the content; an object, number, boolean, array
 * or null is JSON; `{ content: [...] }` is the whole result. A {@link ToolError} is a failure that the caller sees, a {@link ProtocolError} a
 * JSON-RPC error; anything else that is thrown is logged and the caller gets a generic text.
 */
export type Handler<I = undefined, O = undefined> = (args: Arguments<I>, context: Context) => Returned<O> | Promise<Returned<O>>;

type Returned<O> = O extends StandardSchemaV1 ? OutputInput<O> | CallToolResult : unknown;

/** A tool that can be removed again. */
export interface RegisteredTool {
  readonly name: string;
  /** Takes the tool away; connected clients are told. A second call does nothing. */
  remove(): void;
}

/** Where and how to listen. */
export interface ListenOptions {
  /** By default, as with 0, one that is free. */
  port?: number;
  /** 127.0.0.1. */
  host?: string;
  /** /mcp. */
  path?: string;
  /** Serves legacy clients without sessions; false. */
  stateless?: boolean;
  /** Answers with JSON instead of an event stream wherever that is possible; false. */
  json?: boolean;
  /** Values of the Host header that are served beside loopback names. */
  allowedHosts?: string[];
  /** Values of the Origin header that are served beside loopback origins. */
  allowedOrigins?: string[];
}

const handles = new WeakMap<Server, number>();

/** The handle of a server, for a connection in memory. */
export function handleOf(server: Server): number {
  const handle = handles.get(server);
  if (handle === undefined) throw closed();
  return handle;
}

/** Offers tools to clients of every revision. */
export class Server {
  readonly #runtime = runtime();
  readonly #sessions = new Set<Session>();
  readonly #deadlineMs: number;

  /** Answers web-standard requests: `export default { fetch: server.fetch }`. With options: {@link fetchHandler}. */
  readonly fetch: FetchHandler = this.fetchHandler();

  constructor(info: ServerInfo, { instructions, sessionIdle, drainDeadline, keepAlive, ...limits }: ServerOptions = {}) {
    this.#deadlineMs = drainDeadline ?? 5000;
    const options = { ...limits, sessionIdleMs: sessionIdle, drainDeadlineMs: drainDeadline, keepAliveMs: keepAlive };
    handles.set(this, this.#runtime.register("server", { info, instructions, options }));
  }

  /** Adds a tool, also while clients are connected. The arguments of the handler have the type of the schema. */
  registerTool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    handler: Handler<I, O>,
  ): RegisteredTool {
    const { inputSchema, outputSchema, requires, ...rest } = config;
    if (typeof handler !== "function") throw invalid(`the handler of tool ${JSON.stringify(name)} must be a function, not ${typeof handler}`);
    const input = inputSchema === undefined ? undefined : convert(inputSchema, "input", `the inputSchema of tool ${JSON.stringify(name)}`);
    const output = outputSchema === undefined ? undefined : convert(outputSchema, "output", `the outputSchema of tool ${JSON.stringify(name)}`);
    const wrapped = output !== undefined && needsWrap(output.json);
    const tool = { name, ...rest, inputSchema: input?.json, outputSchema: output && wrapped ? wrap(output.json) : output?.json };
    const handle = this.#runtime.registerTool(
      { server: handleOf(this), tool, wrapOutput: wrapped, requires },
      { handler, validateInput: input?.validate, validateOutput: output?.validate, wrapped },
    );
    let registered = true;
    return {
      name,
      remove: () => {
        if (registered && handles.has(this)) this.#runtime.unregister(handle);
        registered = false;
      },
    };
  }

  /** Serves the client at the other end of stdin and stdout until stdin ends. From now on, what the program prints goes to stderr. */
  async serveStdio(): Promise<void> {
    const { session } = await this.#open({ type: "stdio" });
    const error = await session.end;
    if (error) throw error;
  }

  /** Listens for Streamable HTTP. */
  async listen(options: ListenOptions = {}): Promise<Listener> {
    const { session, result } = await this.#open({ type: "http", ...options });
    return new Listener(session, result as { url: string; host: string; port: number }, this.#deadlineMs);
  }

  /**
   * The server for a framework on top of `node:http`: `createServer(server.handler())`, or in Express `app.use("/mcp", server.handler())`. Nothing is
   * opened before the first request.
   */
  handler(options: MountOptions = {}): NodeHandler {
    return nodeHandler(this.#mount(options));
  }

  /** The server for a framework with web-standard requests, such as Hono. Nothing is opened before the first request. */
  fetchHandler(options: MountOptions = {}): FetchHandler {
    return fetchHandler(this.#mount(options));
  }

  /** Closes all listeners and forgets the tools. Calls in flight get `deadline` milliseconds (`drainDeadline` by default). */
  async close({ deadline = this.#deadlineMs }: { deadline?: number } = {}): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close(deadline)));
    const handle = handles.get(this);
    if (handle === undefined) return;
    handles.delete(this);
    this.#runtime.unregister(handle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #mount(options: MountOptions): Mount {
    const transport = { type: "http", mounted: true, ...options };
    return new Mount(options.path, async () => (await this.#open(transport)).session);
  }

  async #open(transport: object): Promise<{ session: Session; result: unknown }> {
    const server = handleOf(this);
    const session = new Session();
    this.#sessions.add(session);
    void session.end.then(() => this.#sessions.delete(session));
    return { session, result: await session.open({ server, transport }) };
  }
}

function closed(): ClosedError {
  return new ClosedError("the server is closed");
}

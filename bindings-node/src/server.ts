// Servers.
import { EventEmitter } from "node:events";

import { checkFunction, invalid } from "./errors.js";
import { ClosedError, type TrunklineError } from "./generated/errors.js";
import { completionFeature, type CompletionHandler } from "./features/completion.js";
import type { ChangeableRegistration, Feature, Registration } from "./features/feature.js";
import { middlewareFeature, type Middleware } from "./features/middleware.js";
import { mountFeature, proxyFeature, type ProxiedClient } from "./features/mount.js";
import { promptFeature, type PromptChanges, type PromptOptions, type PromptHandler } from "./features/prompt.js";
import { providerFeature, type Provider } from "./features/provider.js";
import { requestHandlerFeature, type RequestHandler, type RequestHandlerOptions } from "./features/request-handler.js";
import { resourceFeature, type ResourceChanges, type ResourceOptions, type ResourceHandler } from "./features/resource.js";
import { directoryFeature, skillFeature, type SkillFiles } from "./features/skill.js";
import { toolFeature, type Handler, type ToolChanges, type ToolOptions } from "./features/tool.js";
import { verifierFeature } from "./features/verifier.js";
import { countChildren, endedBySignals, exitIfStarved, exitUnlessSettled } from "./foreground.js";
import { fetchHandler, type FetchHandler } from "./http-mount/fetch-handler.js";
import { Mount } from "./http-mount/mount.js";
import { nodeHandler, type NodeHandler } from "./http-mount/node-handler.js";
import { Lifespan } from "./lifespan.js";
import { Listener } from "./listener.js";
import { callBack } from "./log.js";
import type { BoundAddress } from "./generated/messages.js";
import type { CompletionReference } from "./generated/model.js";
import type { Category } from "./generated/operations.js";
import type { Store } from "./generated/store.js";
import { OpenHandle } from "./open-handle.js";
import type { DirectoryOptions, ProxyOptions, SkillOptions } from "./generated/options.js";
import { describeHttp, describeServer, type ListenOptions, type MountOptions, type ServerInfo, type ServerOptions } from "./options.js";
import { checkObject } from "./option-names.js";
import { port } from "./port.js";
import type { Schema } from "./schema/convert.js";
import type { StandardSchemaV1 } from "./schema/standard-schema.js";
import { storeCallables } from "./store.js";
import { deadlineOf } from "./times.js";

/** A listener, or an in-memory connection. */
export interface Closable {
  /** Refuses new requests, and closes once those in flight are done or the deadline has passed. */
  close(deadlineMs: number): Promise<void>;
  /** Resolves once it has closed. */
  readonly end: Promise<unknown>;
}

/**
 * Frees servers that are dropped without `close`. Open listeners and connections keep their server
 * alive, and mounts keep their features.
 */
const dropped = new FinalizationRegistry<number>((handle) => port().core.unregister(handle));

/**
 * Checks that a store fulfills the contract of {@link Store}. Returns the violations found; an
 * empty array if there are none. The check takes a few seconds. It uses keys below `check/` and
 * removes them afterwards. A store call times out after ten seconds.
 *
 * @throws {@link InvalidArgumentError} if a method of the store is missing.
 */
export async function checkStore(store: string | Store): Promise<string[]> {
  const server = new Server({ name: "check", version: "1" }, { store });
  try {
    return await server.checkStore();
  } finally {
    await server.close();
  }
}

/**
 * A server of tools, resources, prompts and skills for clients of every protocol revision. One
 * server handles all connections and requests of a process, on any number of transports: create it
 * when the program starts, not for each request or session.
 */
export class Server {
  readonly #port = port();
  readonly #open = new Set<Closable>();
  /** Undefined once the server is closed. */
  #handle: number | undefined;
  #closing = false;
  #resolveClosed!: () => void;
  readonly #closed = new Promise<void>((resolve) => {
    this.#resolveClosed = resolve;
  });
  readonly #lifespan = new Lifespan();
  readonly #telemetry: boolean | undefined;

  /** Handles web-standard requests, as in `export default { fetch: server.fetch }`. */
  readonly fetch: FetchHandler = this.fetchHandler();

  constructor(info: ServerInfo, { onError, lifespan, ...options }: ServerOptions = {}) {
    if (typeof (info as unknown) !== "object") throw invalid('a server needs a name and a version: new Server({ name: "notes", version: "1.0.0" })');
    if (onError !== undefined) checkFunction(onError, "onError");
    if (lifespan !== undefined) checkFunction(lifespan, "lifespan");
    this.#telemetry = options.telemetry;
    const store = typeof options.store === "object" ? storeCallables(options.store) : undefined;
    this.#handle = this.#port.registerServer(describeServer(info, options, store), { onError, lifespan: this.#lifespan }, store);
    if (lifespan !== undefined) this.#port.registerLifespan(this.#handle, this.#lifespan.callables(lifespan));
    dropped.register(this, this.#handle, this);
  }

  /**
   * Adds a tool. The schema determines the type of the handler's arguments. Like all features,
   * tools can be added while clients are connected.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerTool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolOptions<I, O>,
    handler: Handler<I, O>,
  ): ChangeableRegistration<ToolChanges> {
    return this.#changeable(toolFeature, { name, ...config }, handler);
  }

  /**
   * Adds a resource or, with a URI template (RFC 6570, such as `notes://{name}`), all resources
   * whose URI matches. An exact URI takes precedence over templates.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerResource<const U extends string>(name: string, uri: U, config: ResourceOptions, handler: ResourceHandler<U>): ChangeableRegistration<ResourceChanges> {
    return this.#changeable(resourceFeature, { name, uri, ...config }, handler);
  }

  /**
   * Adds a prompt.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerPrompt<A extends StandardSchemaV1 | undefined = undefined>(name: string, config: PromptOptions<A>, handler: PromptHandler<A>): ChangeableRegistration<PromptChanges> {
    return this.#changeable(promptFeature, { name, ...config }, handler);
  }

  /**
   * Adds an agent skill: a directory (a path or a `file:` URL), or its files by path. `SKILL.md` at
   * the root names the skill. The files are read now and served as resources; clients with the
   * skills extension also get their digests.
   *
   * @throws {@link InvalidArgumentError} if a file cannot be read, or the skill is invalid.
   */
  registerSkill(files: SkillFiles, options: SkillOptions = {}): Registration {
    return this.#register(skillFeature(files, options));
  }

  /**
   * Adds a directory (a path or a `file:` URL) whose files are served as resources. Files are read
   * on request: text as text, everything else as blobs. The URI of a file is `uri`, a `/`, and its
   * path. Nothing outside of the directory can be read: no `..`, no absolute paths, no links that
   * lead outside.
   *
   * @throws {@link InvalidArgumentError} if the directory or an option is invalid.
   */
  registerDirectory(uri: string, path: string | URL, options: DirectoryOptions = {}): Registration {
    return this.#register(directoryFeature(uri, path, options));
  }

  /**
   * Adds a completion for a prompt argument or a resource template variable.
   *
   * @throws {@link InvalidArgumentError} if the argument already has a completion.
   */
  registerCompletion(ref: CompletionReference, argument: string, handler: CompletionHandler): Registration {
    return this.#register(completionFeature(ref, argument, handler));
  }

  /**
   * Adds a provider of features that are not registered. Its pages follow the registered features.
   * Call {@link listChanged} when its list changes.
   *
   * @throws {@link InvalidArgumentError} if a function is missing or misnamed.
   */
  registerProvider<C extends Category>(category: C, provider: Provider<C>): Registration {
    return this.#register(providerFeature(category, provider));
  }

  /**
   * Adds middleware for some methods, or for all that can be wrapped. It runs inside the middleware
   * that was added earlier.
   *
   * @throws {@link InvalidArgumentError} if a method cannot be wrapped.
   */
  use(middleware: Middleware): Registration;
  use(methods: string | readonly string[], middleware: Middleware): Registration;
  use(...args: [Middleware] | [string | readonly string[], Middleware]): Registration {
    const [methods, middleware] = args.length === 1 ? [undefined, args[0]] : args;
    return this.#register(middlewareFeature(methods, middleware));
  }

  /**
   * Adds the handler of a request that is not part of the protocol. Clients send it with
   * `client.request(method, params)`. The method consists of a prefix that the protocol doesn't
   * use, preferably the vendor's reversed domain, a slash, and a name, such as `com.acme/sum`.
   *
   * @throws {@link InvalidArgumentError} if the method, or its prefix, belongs to the protocol.
   */
  registerRequestHandler<P extends Schema | undefined = undefined>(method: string, config: RequestHandlerOptions<P>, handler: RequestHandler<P>): Registration {
    return this.#register(requestHandlerFeature(method, config, handler));
  }

  /**
   * Adds the features of another server, including features that it adds later. Tools and prompts
   * are named `prefix__name`, resources `prefix+uri`. An empty prefix, which only one server can
   * have, leaves names and URIs unchanged. The other server's middleware runs for its own features,
   * inside that of this server. The options of this server apply.
   *
   * @throws {@link InvalidArgumentError} if the prefix is taken, or the other server is this one.
   */
  mount(prefix: string, other: Server): Registration {
    if (!(other instanceof Server)) throw invalid("mount needs a Server; for a client, use proxy");
    const registration = this.#register(mountFeature(prefix, other.#known()));
    this.#lifespan.mounted.add(other.#lifespan);
    return registration;
  }

  /**
   * Adds the features of the server behind a client, whatever revisions the two sides use.
   * Progress, log messages and cancellations are forwarded, and the server's requests go to the
   * client whose call caused them. For servers of revisions before 2026-07-28, each caller gets its
   * own connection, opened with the client's options. With a client group, each of its servers is
   * mounted under its name for as long as it is in the group.
   *
   * @throws {@link InvalidArgumentError} if the client is not connected, or the prefix is taken.
   */
  proxy(client: ProxiedClient, options: ProxyOptions = {}): Registration {
    return this.#register(proxyFeature(client, options));
  }

  /**
   * Notifies subscribers that a resource has changed.
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  resourceUpdated(uri: string): void {
    this.#port.notify(this.#known(), { resourceUpdated: uri });
  }

  /**
   * Notifies clients that a provider's list has changed. Other lists need no call.
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  listChanged(category: Category): void {
    this.#port.notify(this.#known(), { listChanged: category });
  }

  /**
   * Notifies the client that the user has finished with the page of `elicitUrl` (2025-11-25).
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  elicitationComplete(elicitationId: string): void {
    this.#port.notify(this.#known(), { elicitationComplete: elicitationId });
  }

  /**
   * Serves over stdin and stdout in the foreground, until stdin ends or SIGINT or SIGTERM arrives.
   * Calls in flight may then complete within `drainDeadline`. Signals that the program handles
   * itself are left to it; a second signal ends the process at once. Once this is called,
   * anything that the program prints to stdout goes to stderr.
   *
   * Handlers can't keep the process alive. The process exits with status 1 if a handler still
   * blocks the event loop two seconds after the end, or has blocked it from the signal until
   * `drainDeadline`. It exits with 0 half a second after the end if only handlers of cancelled
   * calls are running, and two seconds after the end if only child processes of handlers are left,
   * unless the program had some of its own when it began to serve.
   *
   * @throws The error of the lifespan, or the error that ended the input.
   */
  async serveStdio(): Promise<void> {
    // On other systems the core redirects the descriptor.
    if (process.platform === "win32") process.stdout.write = process.stderr.write.bind(process.stderr);
    const opened = new OpenHandle(exitIfStarved);
    const ownChildren = countChildren();
    const serve = async (signals: boolean): Promise<TrunklineError | undefined> => {
      await this.#listen({ type: "stdio" }, { opened, foreground: true, signals });
      return opened.end;
    };
    const close = (signal: NodeJS.Signals): Promise<void> => {
      // While the lifespan opens, there is nothing to drain or to close.
      if (opened.result === undefined && this.#lifespan.value === undefined) process.kill(process.pid, signal);
      return opened.close(this.#port.core.closeDeadlineMs(this.#known()));
    };
    const error = await endedBySignals(serve, close);
    this.#lifespan.rethrow();
    exitUnlessSettled(ownChildren);
    if (error) throw error;
  }

  /**
   * Listens for Streamable HTTP.
   *
   * @throws {@link TransportError} if the server cannot listen on the address.
   * @throws {@link InvalidArgumentError} if an option is unknown or invalid.
   */
  async listen(options: ListenOptions = {}): Promise<Listener> {
    checkObject(options);
    const opened = await this.#listenHttp(options);
    return new Listener(opened, opened.result as BoundAddress, this.#port.core.closeDeadlineMs(this.#known()), this.#lifespan);
  }

  /**
   * Serves on file descriptors, such as a socket passed by a supervisor (both `reader` and
   * `writer`), two pipes or a serial line, with one JSON message per line as over stdin and stdout.
   * The program keeps its descriptors: the library uses duplicates and sets them to blocking mode.
   * Ends at the end of the input. Not available on Windows.
   *
   * @throws {@link InvalidArgumentError} if a number is not an open descriptor.
   */
  async listenFd(reader: number, writer = reader): Promise<Listener> {
    const opened = await this.#listen({ type: "fd", reader, writer });
    return new Listener(opened, {}, this.#port.core.closeDeadlineMs(this.#known()), this.#lifespan);
  }

  /**
   * Returns the server as a handler for `node:http` and frameworks based on it, such as
   * `createServer(server.handler())`, or `app.use("/mcp", server.handler())` in Express. Opens with
   * the first request.
   *
   * @throws {@link InvalidArgumentError} if an option is unknown or invalid.
   */
  handler(options: MountOptions = {}): NodeHandler {
    return nodeHandler(this.#mount(options));
  }

  /**
   * Returns the server as a handler of web-standard requests, as in Hono. Opens with the first
   * request.
   *
   * @throws {@link InvalidArgumentError} if an option is unknown or invalid.
   */
  fetchHandler(options: MountOptions = {}): FetchHandler {
    return fetchHandler(this.#mount(options));
  }

  /**
   * Closes all listeners and in-memory connections, and removes all features. Calls in flight get
   * `deadline` milliseconds (default: all but the last fifth of `drainDeadline`). New connections
   * then fail with a {@link ClosedError}, or over HTTP with status 503.
   *
   * @throws The error of the lifespan, if closing it fails; the server is closed regardless.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    const requested = deadlineOf(options);
    if (this.#handle === undefined) return;
    const deadlineMs = requested ?? this.#port.core.closeDeadlineMs(this.#handle);
    this.#closing = true;
    await Promise.all([...this.#open].map((opened) => opened.close(deadlineMs)));
    try {
      this.#lifespan.rethrow();
    } finally {
      const handle = this.#handle;
      this.#handle = undefined;
      dropped.unregister(this);
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- a close may have cleared it
      if (handle !== undefined) this.#port.core.unregister(handle);
      this.#resolveClosed();
    }
  }

  /**
   * For a server that is mounted in the program's own web server: resolves once SIGINT or SIGTERM
   * has arrived and this server is closed. Calls `web.close()` first, so that new connections go to
   * other processes. Streams, which the web server would wait for, end at once; calls in flight may
   * complete within `drainDeadline`. Signals that the program handles itself are left to it; a
   * second signal ends the process at once. Handlers that ignore their cancellation do not keep the
   * process alive: it exits with 0 half a second after the web server has closed.
   *
   * ```ts
   * const web = app.listen(8000);
   * await server.closeOnSignal(web);
   * ```
   *
   * @throws The error of the lifespan or of the web server, if closing it fails; the server is
   *   closed regardless.
   */
  async closeOnSignal(web?: { close(): unknown; closeIdleConnections?(): void }): Promise<void> {
    const failures: unknown[] = [];
    let closing = Promise.resolve();
    const closeWeb = async (): Promise<void> => {
      // The `close` of a server of `node:http` returns before its last connection has ended.
      const ended = web instanceof EventEmitter ? new Promise((resolve) => web.once("close", resolve)) : undefined;
      await web?.close();
      await ended;
    };
    const close = async (): Promise<void> => {
      closing = closeWeb();
      closing.catch((error: unknown) => failures.push(error));
      // Not awaited: some wait for their connections. A late failure is only logged.
      callBack("closing the web server", () => closing, []);
      // Connections that were busy when the web server closed would be kept alive for seconds.
      await this.close().finally(() => web?.closeIdleConnections?.());
    };
    await endedBySignals(
      () => this.#closed,
      close,
      () => Promise.allSettled([closing]),
    );
    if (failures.length > 0) throw failures[0];
    this.#lifespan.rethrow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Adds an in-memory connection. Returns the server's handle.
   *
   * @internal
   */
  connectInMemory(connection: Closable): number {
    const handle = this.#handleToOpen();
    this.#closes(connection);
    return handle;
  }

  /** @internal */
  async checkStore(): Promise<string[]> {
    const checked = await this.#port.requests.send(this.#known(), "checkStore", undefined, {});
    return (checked as { findings: string[] }).findings;
  }

  #changeable<C extends object, H>(make: (config: C, handler: H) => Feature, config: C, handler: H): ChangeableRegistration<C> {
    let handle = this.#port.register(this.#known(), make(config, handler));
    let registered = true;
    const enable = (enabled: boolean): void => {
      if (registered) this.#port.notify(handle, { enabled });
    };
    return {
      update: ({ handler: changed, ...changes }) => {
        const next = { ...config, ...changes };
        const nextHandler = (changed as H | undefined) ?? handler;
        handle = this.#port.register(this.#known(), make(next, nextHandler), handle);
        [config, handler] = [next, nextHandler];
      },
      enable: () => enable(true),
      disable: () => enable(false),
      remove: () => {
        if (registered && this.#handle !== undefined) this.#port.core.unregister(handle);
        registered = false;
      },
    };
  }

  #register(feature: Feature): Registration {
    const registration = this.#changeable(() => feature, {}, undefined);
    return { remove: () => registration.remove() };
  }

  /** Returns the handle, also while the server closes: calls in flight may use it. */
  #known(): number {
    if (this.#handle === undefined) throw new ClosedError("the server is closed");
    return this.#handle;
  }

  /** Returns the handle for a new listener or connection. */
  #handleToOpen(): number {
    if (this.#closing) throw new ClosedError("the server is closed");
    this.#port.observes(this.#telemetry);
    return this.#known();
  }

  #mount(options: MountOptions): Mount {
    const mounted = { mounted: true as const, ...options };
    // The listener opens with the first request, but invalid options are reported now.
    if (this.#handle !== undefined && Object.keys(options).length > 0) {
      const { transport, free } = this.#describe(this.#handle, mounted);
      try {
        this.#port.check({ server: this.#handle, transport });
      } finally {
        free();
      }
    }
    return new Mount(options.path, options.writeTimeout, () => this.#listenHttp(mounted));
  }

  async #listenHttp(options: ListenOptions & { mounted?: true }): Promise<OpenHandle> {
    const { transport, free } = this.#describe(this.#handleToOpen(), options);
    const opened = new OpenHandle();
    void opened.end.then(free);
    return this.#listen(transport, { opened });
  }

  /** Describes a listener. Its verifier is registered until `free` is called. */
  #describe(server: number, options: ListenOptions): { transport: object; free: () => void } {
    const verify = options.auth?.verifier;
    const verifier = verify && this.#port.register(server, verifierFeature(verify));
    return { transport: describeHttp(options, verifier), free: () => verifier !== undefined && this.#port.core.unregister(verifier) };
  }

  async #listen(transport: object, { opened = new OpenHandle(), ...how }: { opened?: OpenHandle; foreground?: true; signals?: boolean } = {}): Promise<OpenHandle> {
    const server = this.#handleToOpen();
    this.#closes(opened);
    return opened.open({ server, transport, ...how });
  }

  /** Closes something with this server. */
  #closes(opened: Closable): void {
    this.#open.add(opened);
    void opened.end.then(() => this.#open.delete(opened));
  }
}

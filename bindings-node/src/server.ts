// Servers.
import { checkFunction, invalid } from "./errors.js";
import { ClosedError, type TrunklineError } from "./generated/errors.js";
import { completionFeature, type CompletionHandler } from "./features/completion.js";
import type { ChangeableRegistration, Feature, Registration } from "./features/feature.js";
import { middlewareFeature, type Middleware } from "./features/middleware.js";
import { mountFeature, proxyFeature, type ProxiedClient, type ProxyOptions } from "./features/mount.js";
import { promptFeature, type PromptOptions, type PromptHandler } from "./features/prompt.js";
import { providerFeature, type Provider } from "./features/provider.js";
import { requestHandlerFeature, type RequestHandler, type RequestHandlerOptions } from "./features/request-handler.js";
import { resourceFeature, type ResourceOptions, type ResourceHandler } from "./features/resource.js";
import { directoryFeature, skillFeature, type DirectoryOptions, type SkillFiles, type SkillOptions } from "./features/skill.js";
import { toolFeature, type Handler, type ToolOptions } from "./features/tool.js";
import { verifierFeature } from "./features/verifier.js";
import { endedBySignals, exitUnlessSettled } from "./foreground.js";
import { fetchHandler, type FetchHandler } from "./http-mount/fetch-handler.js";
import { Mount } from "./http-mount/mount.js";
import { nodeHandler, type NodeHandler } from "./http-mount/node-handler.js";
import { Lifespan } from "./lifespan.js";
import { Listener, type Address } from "./listener.js";
import type { CompletionReference } from "./generated/model.js";
import type { Category } from "./generated/operations.js";
import type { Store } from "./generated/store.js";
import { OpenHandle } from "./open-handle.js";
import { describeHttp, describeServer, type ListenOptions, type MountOptions, type ServerInfo, type ServerOptions } from "./options.js";
import { port } from "./port.js";
import type { Schema } from "./schema/convert.js";
import type { StandardSchemaV1 } from "./schema/standard-schema.js";
import type { Owner } from "./scope.js";
import { storeCallables } from "./store.js";
import { deadlineOf } from "./times.js";

/** A connection to a server in the same process. */
export interface MemoryConnection {
  /** Refuses new requests, and closes once those in flight are done or the deadline has passed. */
  closeWithin(deadlineMs: number): Promise<void>;
  /** Fulfilled once the connection has closed. */
  readonly end: Promise<unknown>;
}

/** Frees servers that are dropped without `close`. Everything that is open keeps its server. */
const dropped = new FinalizationRegistry<number>((handle) => {
  port().unregister(handle);
});

/** Adds a connection in memory to a server; gives the server's handle. */
export let connectInMemory: (server: Server, connection: MemoryConnection) => Promise<number>;

let storeFindings: (server: Server) => Promise<string[]>;

/**
 * Checks that a store keeps the contract of `Store`: the findings; none if it does. It uses keys of
 * its own below `check/`, removes them afterwards, and takes some seconds. A call of the store has
 * ten seconds.
 *
 * @throws {@link InvalidArgumentError} if a method of the store is missing.
 */
export async function checkStore(store: string | Store): Promise<string[]> {
  const server = new Server({ name: "check", version: "1" }, { store });
  try {
    return await storeFindings(server);
  } finally {
    await server.close();
  }
}

/**
 * A server of tools, resources, prompts and skills for clients of every revision. One serves all
 * connections and all requests of a process, over any transports at once: it is made when the
 * program starts, not for each request or session.
 */
export class Server {
  readonly #port = port();
  readonly #open = new Set<OpenHandle>();
  readonly #memoryConnections = new Set<MemoryConnection>();
  /** Undefined once the server is closed. */
  #handle: number | undefined;
  #closing = false;
  #resolveClosed!: () => void;
  readonly #closed = new Promise<void>((resolve) => {
    this.#resolveClosed = resolve;
  });
  readonly #lifespan: Lifespan;
  readonly #telemetry: boolean | undefined;

  static {
    connectInMemory = async (server, connection) => {
      const handle = server.#handleToOpen();
      server.#memoryConnections.add(connection);
      void connection.end.then(() => server.#memoryConnections.delete(connection));
      await server.#lifespan.enter(connection.end);
      return handle;
    };
    storeFindings = async (server) => {
      const checked = await server.#port.requests.send(server.#known(), "checkStore", undefined, {});
      return (checked as { findings: string[] }).findings;
    };
  }

  /** Handles web-standard requests, as in `export default { fetch: server.fetch }`. */
  readonly fetch: FetchHandler = this.fetchHandler();

  constructor(info: ServerInfo, { onError, lifespan, ...options }: ServerOptions = {}) {
    if (typeof (info as unknown) !== "object") throw invalid('a server has a name and a version: new Server({ name: "notes", version: "1.0.0" })');
    if (onError !== undefined) checkFunction(onError, "onError");
    if (lifespan !== undefined) checkFunction(lifespan, "lifespan");
    const owner: Owner = { onError, lifespan: undefined };
    this.#lifespan = new Lifespan(lifespan, owner);
    this.#telemetry = options.telemetry;
    const store = typeof options.store === "object" ? storeCallables(options.store) : undefined;
    this.#handle = this.#port.registerServer(describeServer(info, options, store), owner, store);
    dropped.register(this, this.#handle, this);
  }

  /**
   * Adds a tool. The handler's arguments have the type of the schema. Like all features, tools can
   * be added while clients are connected.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerTool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolOptions<I, O>,
    handler: Handler<I, O>,
  ): ChangeableRegistration<ToolChanges> {
    return this.#changeable(({ name, ...config }: ToolChanges, handler) => toolFeature(name, config, handler), { name, ...config }, handler);
  }

  /**
   * Adds a resource or, with a URI template (RFC 6570, such as `notes://{name}`), all resources
   * whose URI matches. An exact URI wins over templates.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerResource<const U extends string>(name: string, uri: U, config: ResourceOptions, handler: ResourceHandler<U>): ChangeableRegistration<ResourceChanges> {
    return this.#changeable(({ name, uri, ...config }: ResourceChanges, handler) => resourceFeature(name, uri, config, handler), { name, uri, ...config }, handler);
  }

  /**
   * Adds a prompt.
   *
   * @throws {@link InvalidArgumentError} if the definition is invalid or its name is taken.
   */
  registerPrompt<A extends StandardSchemaV1 | undefined = undefined>(name: string, config: PromptOptions<A>, handler: PromptHandler<A>): ChangeableRegistration<PromptChanges> {
    return this.#changeable(({ name, ...config }: PromptChanges, handler) => promptFeature(name, config, handler), { name, ...config }, handler);
  }

  /**
   * Adds an agent skill: a folder (a path or a `file:` URL), or its files by path. `SKILL.md` at
   * the root names the skill. The files are read now and served as resources; clients with the
   * skills extension also get their digests.
   *
   * @throws {@link InvalidArgumentError} if a file cannot be read, or the skill is invalid.
   */
  addSkill(files: SkillFiles, options: SkillOptions = {}): Registration {
    return this.#register(skillFeature(files, options));
  }

  /**
   * Adds a folder (a path or a `file:` URL) whose files are resources, read when they are asked
   * for: text as text, the rest as blobs. The URI of each is `uri` and its path, after a `/`.
   * Nothing outside of the folder can be read: no `..`, no absolute path, no link that leads out.
   *
   * @throws {@link InvalidArgumentError} if the folder or an option is invalid.
   */
  addDirectory(uri: string, path: string | URL, options: DirectoryOptions = {}): Registration {
    return this.#register(directoryFeature(uri, path, options));
  }

  /**
   * Adds completion of a prompt argument or a resource template variable.
   *
   * @throws {@link InvalidArgumentError} if the argument has a completion already.
   */
  registerCompletion(ref: CompletionReference, argument: string, handler: CompletionHandler): Registration {
    return this.#register(completionFeature(ref, argument, handler));
  }

  /**
   * Adds a provider of features that are not registered. Its pages follow the registered features.
   * Call {@link listChanged} when its list changes.
   *
   * @throws {@link InvalidArgumentError} if a function is missing, or has another name.
   */
  registerProvider<C extends Category>(category: C, provider: Provider<C>): Registration {
    return this.#register(providerFeature(category, provider));
  }

  /**
   * Adds middleware for some methods, or for all that can be wrapped. It runs inside the middleware
   * that was added before.
   *
   * @throws {@link InvalidArgumentError} for a method that cannot be wrapped.
   */
  use(middleware: Middleware): Registration;
  use(methods: string | readonly string[], middleware: Middleware): Registration;
  use(...given: [Middleware] | [string | readonly string[], Middleware]): Registration {
    const [methods, middleware] = given.length === 1 ? [undefined, given[0]] : given;
    return this.#register(middlewareFeature(methods, middleware));
  }

  /**
   * Adds the handler of a request that the protocol does not have. Clients send it with
   * `client.request(method, params)`. The method is a prefix that is not the protocol's, best the
   * domain of the vendor in reverse, a slash, and a name, such as `com.acme/sum`.
   *
   * @throws {@link InvalidArgumentError} for a method of the protocol, or with one of its prefixes.
   */
  registerRequestHandler<P extends Schema | undefined = undefined>(method: string, config: RequestHandlerOptions<P>, handler: RequestHandler<P>): Registration {
    return this.#register(requestHandlerFeature(method, config, handler));
  }

  /**
   * Shows the features of another server, and those that are added to it later. Tools and prompts
   * are `prefix__name`, resources `prefix+uri`; an empty prefix leaves names and URIs as they are,
   * for one server. The middleware of the other server runs for its own features, inside that of
   * this one; the options are those of this one.
   *
   * @throws {@link InvalidArgumentError} if the prefix is taken, or the other server is this one.
   */
  mount(prefix: string, other: Server): Registration {
    if (!(other instanceof Server)) throw invalid("mount needs a Server; for a client there is proxy");
    const registration = this.#register(mountFeature(prefix, other.#known()));
    this.#lifespan.mount(other.#lifespan);
    return {
      remove: () => {
        registration.remove();
        this.#lifespan.unmount(other.#lifespan);
      },
    };
  }

  /**
   * Shows the features of the server behind a client, whatever revisions the two sides speak.
   * Progress, log messages and cancellations pass, and what the server asks is asked of the client
   * whose call needs it. Servers of revisions before 2026-07-28 get a connection for each caller,
   * opened as the client was. A client group is shown as all of its servers, each under its name in
   * the group and for as long as it is one of the group.
   *
   * @throws {@link InvalidArgumentError} if the client is not connected, or the prefix is taken.
   */
  proxy(client: ProxiedClient, options: ProxyOptions = {}): Registration {
    return this.#register(proxyFeature(client, options));
  }

  /**
   * Notifies subscribers of a resource that its contents have changed.
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  resourceUpdated(uri: string): void {
    this.#port.notify(this.#known(), { resourceUpdated: uri });
  }

  /**
   * Notifies clients that the list of a provider has changed; other lists need no call.
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  listChanged(category: Category): void {
    this.#port.notify(this.#known(), { listChanged: category });
  }

  /**
   * Notifies the client that the user is done with the page of `elicitUrl` (2025-11-25).
   *
   * @throws {@link ClosedError} if the server is closed.
   */
  elicitationComplete(elicitationId: string): void {
    this.#port.notify(this.#known(), { elicitationComplete: elicitationId });
  }

  /**
   * Serves over stdin and stdout in the foreground, until stdin ends, or SIGINT or SIGTERM comes:
   * then calls in flight may complete within `drainDeadline`. A signal that the program handles
   * itself is left to it, and a second one ends the process at once. From this call on, what the
   * program prints on stdout goes to stderr.
   *
   * A handler that blocks the event loop would keep the process alive: where one still does two
   * seconds after the end, or has done since the signal until `drainDeadline`, the process exits
   * with status 1. It exits with 0 half a second after the end while handlers go on whose
   * calls were cancelled, and two seconds after it where only child processes of handlers are left.
   *
   * @throws The error of the lifespan, or that with which the input ended.
   */
  async serveStdio(): Promise<void> {
    const opened = new OpenHandle();
    const serve = async (signals: boolean): Promise<TrunklineError | undefined> => {
      this.#handleToOpen();
      this.#port.holdStdio();
      await this.#listen({ type: "stdio" }, { opened, foreground: true, signals });
      return opened.end;
    };
    const close = (signal: NodeJS.Signals): Promise<void> => {
      // While the lifespan opens there is nothing to drain.
      if (!opened.isOpen) process.kill(process.pid, signal);
      return opened.close(this.#port.closeDeadlineMs(this.#known()));
    };
    const error = await endedBySignals(serve, close);
    await this.#lifespan.closed();
    exitUnlessSettled();
    if (error) throw error;
  }

  /**
   * Listens for Streamable HTTP.
   *
   * @throws {@link TransportError} if the address cannot be listened on.
   * @throws {@link InvalidArgumentError} for an option that is unknown or invalid.
   */
  async listen(options: ListenOptions = {}): Promise<Listener> {
    const { opened, result } = await this.#listenHttp(options);
    return new Listener(opened, result as Address, this.#port.closeDeadlineMs(this.#known()), this.#lifespan);
  }

  /**
   * Serves descriptors of the program's own, one JSON message a line as on stdin and stdout: a
   * socket that a supervisor has passed on (`writer` is `reader` then), two pipes, a serial line.
   * They stay the program's: the library uses duplicates, which it makes blocking. Ends when the
   * input ends. Not on Windows.
   *
   * @throws {@link InvalidArgumentError} for what is not an open descriptor.
   */
  async listenFd(reader: number, writer = reader): Promise<Listener> {
    const { opened } = await this.#listen({ type: "fd", reader, writer });
    return new Listener(opened, { url: "" }, this.#port.closeDeadlineMs(this.#known()), this.#lifespan);
  }

  /**
   * The server as a handler for `node:http` and frameworks on top of it, such as
   * `createServer(server.handler())`, or in Express `app.use("/mcp", server.handler())`. Opens with
   * the first request.
   *
   * @throws {@link InvalidArgumentError} for an option that is unknown or invalid.
   */
  handler(options: MountOptions = {}): NodeHandler {
    return nodeHandler(this.#mount(options));
  }

  /**
   * The server as a handler of web-standard requests, as in Hono. Opens with the first request.
   *
   * @throws {@link InvalidArgumentError} for an option that is unknown or invalid.
   */
  fetchHandler(options: MountOptions = {}): FetchHandler {
    return fetchHandler(this.#mount(options));
  }

  /**
   * Closes all listeners and connections in memory, and removes all features. Calls in flight get
   * `deadline` milliseconds (default: all but the last fifth of `drainDeadline`). To connect from
   * now on is a {@link ClosedError}, and over HTTP the status 503.
   *
   * @throws The error of the lifespan, if that does not close; the server is closed all the same.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    const given = deadlineOf(options);
    if (this.#handle === undefined) return;
    const deadlineMs = given ?? this.#port.closeDeadlineMs(this.#handle);
    this.#closing = true;
    const opened = [...this.#open].map((handle) => handle.close(deadlineMs));
    const connections = [...this.#memoryConnections].map((connection) => connection.closeWithin(deadlineMs));
    await Promise.all([...opened, ...connections]);
    try {
      await this.#lifespan.closed();
    } finally {
      const handle = this.#handle;
      this.#handle = undefined;
      dropped.unregister(this);
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- a close may have cleared it
      if (handle !== undefined) this.#port.unregister(handle);
      this.#resolveClosed();
    }
  }

  /**
   * For a server that is mounted in the program's own web server: fulfilled once SIGINT or SIGTERM
   * has come and this server is closed. `web.close()` is called first, so that new connections go
   * to other processes. Streams, for which the web server would wait, end at once; calls in flight
   * may complete within `drainDeadline`. A signal that the program handles itself is left to it,
   * and a second one ends the process at once.
   *
   * ```ts
   * const web = app.listen(8000);
   * await server.closeOnSignal(web);
   * ```
   *
   * @throws The error of the lifespan, if that does not close.
   */
  async closeOnSignal(web?: { close(): unknown; closeIdleConnections?(): void }): Promise<void> {
    const close = async (): Promise<void> => {
      web?.close();
      await this.close();
      // Connections that were busy when the web server closed would be kept alive for seconds.
      web?.closeIdleConnections?.();
    };
    await endedBySignals(() => this.#closed, close);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #changeable<C extends object, H>(make: (config: C, handler: H) => Feature, config: C, handler: H): ChangeableRegistration<C> {
    let handle = this.#port.register(this.#known(), make(config, handler));
    let registered = true;
    const set = (enabled: boolean): void => {
      if (registered) this.#port.notify(handle, { enabled });
    };
    return {
      update: ({ handler: changed, ...changes }) => {
        const next = { ...config, ...changes };
        const nextHandler = (changed as H | undefined) ?? handler;
        handle = this.#port.register(this.#known(), make(next, nextHandler), handle);
        [config, handler] = [next, nextHandler];
      },
      enable: () => {
        set(true);
      },
      disable: () => {
        set(false);
      },
      remove: () => {
        if (registered && this.#handle !== undefined) this.#port.unregister(handle);
        registered = false;
      },
    };
  }

  #register(feature: Feature): Registration {
    const handle = this.#port.register(this.#known(), feature);
    let registered = true;
    return {
      remove: () => {
        if (registered && this.#handle !== undefined) this.#port.unregister(handle);
        registered = false;
      },
    };
  }

  /** The handle, also while the server closes: calls in flight may use it. */
  #known(): number {
    if (this.#handle === undefined) throw new ClosedError("the server is closed");
    return this.#handle;
  }

  /** The handle, for a new listener or connection. */
  #handleToOpen(): number {
    if (this.#closing) throw new ClosedError("the server is closed");
    this.#port.observes(this.#telemetry);
    return this.#known();
  }

  #mount(options: MountOptions): Mount {
    // It opens with the first request, but a wrong option is an error here.
    const { auth, ...others } = options;
    // A verifier has no handle yet.
    const judged = { mounted: true, ...others, ...(auth && !auth.verifier && { auth }) } as MountOptions;
    if (this.#handle !== undefined && Object.keys(options).length > 0) this.#port.check({ server: this.#handle, transport: describeHttp(judged, undefined) });
    return new Mount(options.path, async () => (await this.#listenHttp({ mounted: true, ...options })).opened);
  }

  async #listenHttp(options: ListenOptions & { mounted?: true }): Promise<Opened> {
    const { verifier } = options.auth ?? {};
    if (!verifier) return this.#listen(describeHttp(options, undefined));
    const handle = this.#port.register(this.#handleToOpen(), verifierFeature(verifier));
    const unregister = (): void => {
      this.#port.unregister(handle);
    };
    try {
      const listening = await this.#listen(describeHttp(options, handle));
      void listening.opened.end.then(unregister);
      return listening;
    } catch (error) {
      unregister();
      throw error;
    }
  }

  async #listen(
    transport: object,
    { opened = new OpenHandle(), ...how }: { opened?: OpenHandle; foreground?: true; signals?: boolean } = {},
  ): Promise<Opened> {
    const server = this.#handleToOpen();
    this.#open.add(opened);
    void opened.end.then(() => this.#open.delete(opened));
    try {
      await this.#lifespan.enter(opened.end);
    } catch (error) {
      opened.closed();
      throw error;
    }
    return { opened, result: await opened.open({ server, transport, ...how }) };
  }
}

/** The changes of a tool. */
export type ToolChanges = ToolOptions<Schema | undefined, Schema | undefined> & { name: string };
/** The changes of a resource or resource template. */
export type ResourceChanges = ResourceOptions & { name: string; uri: string };
/** The changes of a prompt. */
export type PromptChanges = PromptOptions<StandardSchemaV1 | undefined> & { name: string };

interface Opened {
  opened: OpenHandle;
  /** The result of `open`. */
  result: unknown;
}

import { verifierOffer } from "./auth.js";
import { ClosedError } from "./errors.js";
import { describeHttp, type ListenOptions, type MountOptions } from "./http-options.js";
import { Listener, type Address } from "./listener.js";
import { nodeHandler, type NodeHandler } from "./middleware.js";
import type { Category, CompletionReference } from "./model.js";
import { Mount } from "./mount.js";
import { completionOffer, type CompletionHandler } from "./offers/completion.js";
import { middlewareOffer, type Middleware } from "./offers/middleware.js";
import type { Offer, Registration } from "./offers/offer.js";
import { promptOffer, type PromptConfig, type PromptHandler } from "./offers/prompt.js";
import { providerOffer, type Provider } from "./offers/provider.js";
import { resourceOffer, type ResourceConfig, type ResourceHandler } from "./offers/resource.js";
import { skillOffer, type SkillFiles, type SkillOptions } from "./offers/skill.js";
import { toolOffer, type Handler, type ToolConfig } from "./offers/tool.js";
import { runtime } from "./runtime.js";
import type { Schema } from "./schema.js";
import { describeServer, type ServerInfo, type ServerOptions } from "./server-options.js";
import { Session } from "./session.js";
import { milliseconds } from "./times.js";
import type { StandardSchemaV1 } from "./standard.js";
import { fetchHandler, type FetchHandler } from "./web.js";

/** Whoever is connected to a server in memory. */
export interface Local {
  /** The server closes: no more requests, and those in flight get so many milliseconds. */
  leave(deadlineMs: number): Promise<void>;
}

/** Connects someone to a server in memory, for as long as `end` is pending: the server's handle. */
export let join: (server: Server, local: Local, end: Promise<unknown>) => number;

/** Offers tools, resources, prompts and skills to clients of every revision. */
export class Server {
  readonly #runtime = runtime();
  readonly #sessions = new Set<Session>();
  readonly #locals = new Set<Local>();
  /** Until the server is closed. */
  #handle: number | undefined;
  #closing = false;

  static {
    join = (server, local, end) => {
      const handle = server.#openHandle();
      server.#locals.add(local);
      void end.then(() => server.#locals.delete(local));
      return handle;
    };
  }

  /** Answers web-standard requests: `export default { fetch: server.fetch }`. With options: {@link fetchHandler}. */
  readonly fetch: FetchHandler = this.fetchHandler();

  constructor(info: ServerInfo, options: ServerOptions = {}) {
    this.#handle = this.#runtime.registerServer(describeServer(info, options));
  }

  /** Adds a tool, also while clients are connected, as everything here. The arguments of the handler have the type of the schema. */
  registerTool<I extends Schema | undefined = undefined, O extends Schema | undefined = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    handler: Handler<I, O>,
  ): Registration {
    return this.#offer(toolOffer(name, config, handler));
  }

  /** Adds a resource, or with a URI template (RFC 6570, such as `notes://{name}`) everything whose URI matches. An exact URI wins over templates. */
  registerResource<const U extends string>(name: string, uri: U, config: ResourceConfig, handler: ResourceHandler<U>): Registration {
    return this.#offer(resourceOffer(name, uri, config, handler));
  }

  /** Adds a prompt. */
  registerPrompt<A extends StandardSchemaV1 | undefined = undefined>(name: string, config: PromptConfig<A>, handler: PromptHandler<A>): Registration {
    return this.#offer(promptOffer(name, config, handler));
  }

  /**
   * Adds an agent skill: a folder (a path or a `file:` URL), or its files by their paths within it. `SKILL.md` at its root gives it its name. Its files are
   * read now, and offered as resources; clients with the skills extension also find them with their digests.
   */
  addSkill(files: SkillFiles, options: SkillOptions = {}): Registration {
    return this.#offer(skillOffer(files, options));
  }

  /** Completes an argument of a prompt, or a variable of a resource template. */
  registerCompletion(ref: CompletionReference, argument: string, handler: CompletionHandler): Registration {
    return this.#offer(completionOffer(ref, argument, handler));
  }

  /** Lists and serves what is not registered. Its pages follow those of what is. When what it lists changes, call {@link listChanged}. */
  registerProvider<C extends Category>(category: C, provider: Provider<C>): Registration {
    return this.#offer(providerOffer(category, provider));
  }

  /** Wraps requests of some methods, or of all that can be wrapped, inside the middleware that was added before. */
  use(middleware: Middleware): Registration;
  use(methods: string | readonly string[], middleware: Middleware): Registration;
  use(...given: [Middleware] | [string | readonly string[], Middleware]): Registration {
    const [methods, middleware] = given.length === 1 ? [undefined, given[0]] : given;
    return this.#offer(middlewareOffer(methods, middleware));
  }

  /** Tells those who subscribed to a resource that its contents have changed. */
  resourceUpdated(uri: string): void {
    this.#runtime.tell(this.#known(), { resourceUpdated: uri });
  }

  /** Tells clients that a list has changed. Only what providers list needs this; what is registered or removed is told by itself. */
  listChanged(category: Category): void {
    this.#runtime.tell(this.#known(), { listChanged: category });
  }

  /** Tells the client that was sent to a page (`elicitUrl`) that the user is done there. Only revision 2025-11-25 has this. */
  elicitationComplete(elicitationId: string): void {
    this.#runtime.tell(this.#known(), { elicitationComplete: elicitationId });
  }

  /** Serves the client at the other end of stdin and stdout until stdin ends. From now on, what the program prints goes to stderr. */
  async serveStdio(): Promise<void> {
    const { session } = await this.#open({ type: "stdio" });
    const error = await session.end;
    if (error) throw error;
  }

  /** Listens for Streamable HTTP. */
  async listen(options: ListenOptions = {}): Promise<Listener> {
    const { session, result } = await this.#openHttp(options);
    return new Listener(session, result as Address, this.#runtime.drainDeadlineMs(this.#known()));
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

  /**
   * Closes all listeners and the connections in memory, and forgets what was registered. Calls in flight get `deadline` milliseconds (`drainDeadline` by
   * default). Nobody can connect from now on: that is a {@link ClosedError}, and over HTTP the status 503.
   */
  async close({ deadline }: { deadline?: number } = {}): Promise<void> {
    if (this.#handle === undefined) return;
    const deadlineMs = milliseconds(deadline, "deadline") ?? this.#runtime.drainDeadlineMs(this.#handle);
    this.#closing = true;
    const sessions = [...this.#sessions].map((session) => session.close(deadlineMs));
    const locals = [...this.#locals].map((local) => local.leave(deadlineMs));
    await Promise.all([...sessions, ...locals]);
    const handle = this.#handle;
    this.#handle = undefined;
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- someone else may have closed it meanwhile
    if (handle !== undefined) this.#runtime.unregister(handle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #offer(offer: Offer): Registration {
    const handle = this.#runtime.register(this.#known(), offer);
    let registered = true;
    return {
      remove: () => {
        if (registered && this.#handle !== undefined) this.#runtime.unregister(handle);
        registered = false;
      },
    };
  }

  /** What is in flight may still use the server while it closes. */
  #known(): number {
    if (this.#handle === undefined) throw new ClosedError("the server is closed");
    return this.#handle;
  }

  /** For whoever wants to connect. */
  #openHandle(): number {
    if (this.#closing) throw new ClosedError("the server is closed");
    return this.#known();
  }

  #mount(options: MountOptions): Mount {
    return new Mount(options.path, async () => (await this.#openHttp({ mounted: true, ...options })).session);
  }

  async #openHttp(options: ListenOptions & { mounted?: true }): Promise<{ session: Session; result: unknown }> {
    const { verifier } = options.auth ?? {};
    if (!verifier) return this.#open(describeHttp(options, undefined));
    const handle = this.#runtime.register(this.#openHandle(), verifierOffer(verifier));
    const forget = (): void => {
      this.#runtime.unregister(handle);
    };
    try {
      const opened = await this.#open(describeHttp(options, handle));
      void opened.session.end.then(forget);
      return opened;
    } catch (error) {
      forget();
      throw error;
    }
  }

  async #open(transport: object): Promise<{ session: Session; result: unknown }> {
    const server = this.#openHandle();
    const session = new Session();
    this.#sessions.add(session);
    void session.end.then(() => this.#sessions.delete(session));
    return { session, result: await session.open({ server, transport }) };
  }
}

// Clients.
import type { EventEmitter } from "node:events";

import { Connection, type ConnectTarget } from "./connection.js";
import { checkFunction, checkSignal, invalid } from "./errors.js";
import type { TrunklineError } from "./generated/errors.js";
import type { ServersOf } from "./client-group/servers-of.js";
import type { JsonObject, Root } from "./generated/model.js";
import { ClientOperations, notifications, type ConnectionDescription } from "./generated/operations.js";
import { clientOptionsTimes, oauthOptionsTimes, type ChildOptions, type ClientOptions, type EndpointOptions, type OAuthOptions } from "./generated/options.js";
import { notified, operations, type NotificationHandlers, type RequestHandlers } from "./generated/server-requests.js";
import { isTransport } from "./generated/transport.js";
import { callBack } from "./log.js";
import { checkNames } from "./option-names.js";
import { port } from "./port.js";
import { Handlers } from "./server-requests.js";
import { Server } from "./server.js";
import { deadlineOf, inMilliseconds } from "./times.js";

/** A notification from the server. */
export interface Notification {
  /** The method, such as `notifications/message`. */
  method: string;
  /** Its parameters; empty if it has none. */
  params: JsonObject;
}

/** Options of a connection, and the handlers of the client. All times are in milliseconds. */
export interface ConnectOptions extends ClientOptions, EndpointOptions, ChildOptions, RequestHandlers, NotificationHandlers {
  /** Called for each notification of the server, also for those that come before a listener. */
  onNotification?: ((notification: Notification) => void) | undefined;
  /** An access token, or how to get one: `{}` asks the server and opens the browser. */
  auth?: string | OAuthOptions | undefined;
  /** Gives up connecting. */
  signal?: AbortSignal | undefined;
  /**
   * For tests, of a server of this process: rejects a request with what a handler threw, where its
   * caller is otherwise told of an internal error. Default: false.
   */
  raiseExceptions?: boolean | undefined;
}

/** The events of a client. */
// A type: an interface does not fit the index signature of EventEmitter.
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions
export type ClientEvents = {
  /**
   * The server's tools have changed. Emitted only if `onToolsChanged` was passed to `connect`;
   * adding a listener otherwise throws.
   */
  toolsChanged: [];
  /** A notification of the server. The option `onNotification` also gets the earliest. */
  notification: [notification: Notification];
  /** The connection has closed, by `close` or with an error. */
  close: [error?: TrunklineError];
};

/** The common part of the clients of one server and of many. */
export abstract class ConnectedClient extends ClientOperations<ClientEvents> {
  readonly #connection: Connection;
  readonly #handlers: Handlers;
  #opened: ConnectionDescription = { revision: "", capabilities: {} };

  /** @internal */
  protected static async open<C extends ConnectedClient>(make: (connection: Connection, handlers: Handlers) => C, target: ConnectTarget | ServersOf, options: ConnectOptions): Promise<C> {
    const { headers, ca, clientCertificate, clientKey, proxy, ...notHttp } = options;
    const { cwd, env, inheritEnv, stderr, stderrFile, auth, signal, raiseExceptions, telemetry, ...others } = notHttp;
    checkSignal(signal);
    if (others.onNotification !== undefined) checkFunction(others.onNotification, "onNotification");
    const handlers = new Handlers();
    handlers.add(others);
    if (isTransport(target)) handlers.addTransport(target);
    const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !(name === "onNotification" || name in operations || name in notified)));
    const connection = new Connection((method, params) => {
      client.#receiveNotification(method, params as JsonObject);
    }, handlers);
    connection.raiseExceptions = raiseExceptions ?? false;
    const client = make(connection, handlers);
    const settings = { ...inMilliseconds(rest, clientOptionsTimes), listen: handlers.listens || undefined, telemetry: port().observes(telemetry) };
    const transportOptions = { http: { headers, ca, clientCertificate, clientKey, proxy }, child: { cwd, env, inheritEnv, stderr, stderrFile } };
    const config = { client: settings, handlers: handlers.lanes(), auth: authorization(auth) };
    client.#opened = (await connection.connect(target, transportOptions, config, signal)) as ConnectionDescription;
    if (target instanceof Server && !handlers.listens && !others.onNotification) client.#releaseLoop();
    return client;
  }

  protected constructor(connection: Connection, handlers: Handlers, { onToolsChanged, onNotification }: ConnectOptions = {}) {
    if (!((connection as unknown) instanceof Connection)) throw invalid(`new ${new.target.name}(…) connects to nothing: use await ${new.target.name}.connect(…)`);
    super(connection);
    this.#connection = connection;
    this.#handlers = handlers;
    if (onNotification) this.on("notification", onNotification);
    if (!onToolsChanged) (this as EventEmitter).on("newListener", refuseToolsChanged);
    void connection.end.then((error) => {
      this.#emit("close", error);
    });
  }

  /**
   * Adds handlers, replacing those of the same name. Servers of revisions before 2026-07-28
   * take only handlers for which a handler of that capability was there when they were connected
   * to.
   *
   * @throws {@link InvalidArgumentError} for a name that is unknown, or a handler that comes too
   *   late for its capability.
   */
  setHandlers(handlers: RequestHandlers): void {
    checkNames(handlers, Object.keys(operations));
    this.#connection.notify({ handlers: this.#handlers.lanes(handlers) });
    this.#handlers.add(handlers);
  }

  /**
   * Changes the roots. A server of a revision before 2026-07-28 is notified; others ask again.
   *
   * @throws {@link ClosedError} if the connection has ended.
   * @deprecated Since 2026-07-28: use tool arguments, resource URIs or configuration instead.
   */
  setRoots(roots: readonly Root[]): void {
    this.#connection.notify({ roots });
  }

  /**
   * Closes the connection; requests in flight fail. A program that was started gets `deadline`
   * milliseconds to exit by itself (default: `closeTimeout`).
   *
   * @throws {@link InvalidArgumentError} for a deadline that is not a time.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    await this.#connection.close(deadlineOf(options));
  }

  /** False once the client was closed, or has lost a server that it cannot reach again. */
  get isConnected(): boolean {
    return this.#connection.isOpen;
  }

  /**
   * Keeps the event loop alive while connected, which is the default; of a server of this process
   * only where there are handlers or listeners for what it sends.
   */
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

  /** @internal */
  protected override get described(): ConnectionDescription {
    if (!this.#opened.serverInfo) Object.assign(this.#opened, this.#connection.describe());
    return this.#opened;
  }

  /**
   * The id of the process of the server, if this client has started it and it runs. A server that
   * is started again has another one.
   */
  override get pid(): number | undefined {
    return (this.#connection.describe() as Partial<ConnectionDescription>).pid;
  }

  /** Lets the process end while nobody asks a server of this process and nobody listens to it. */
  #releaseLoop(): void {
    this.#connection.unref();
    this.once("newListener" as "notification", () => {
      this.#connection.ref();
    });
  }

  /** Calls each listener; what one throws costs the others nothing. */
  #emit(event: "notification" | "toolsChanged" | "close", ...given: unknown[]): void {
    for (const listener of (this as EventEmitter).rawListeners(event)) callBack(`a listener of "${event}"`, () => Reflect.apply(listener, this, given) as unknown, []);
  }

  #receiveNotification(method: string, params: JsonObject): void {
    this.#handlers.notify(method, params);
    this.#emit("notification", { method, params });
    if (method === notifications.toolsChanged) this.#emit("toolsChanged");
  }
}

/** A connection to a server. */
export class Client extends ConnectedClient {
  /**
   * Connects and negotiates.
   *
   * @throws {@link TransportError} if the server cannot be reached or started; its `reason` says
   *   why. {@link VersionError} if the two sides have no revision in common.
   * @throws {@link AuthorizationRequiredError} if the server asks for a token that is not there.
   * @throws {@link InvalidArgumentError} for an option that is unknown or invalid.
   */
  static connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client> {
    return Client.open((connection, handlers) => new Client(connection, handlers, options), target, options);
  }
}

function authorization(auth: string | OAuthOptions | undefined): object | undefined {
  if (typeof auth === "string") return { token: auth };
  return auth && inMilliseconds(auth, oauthOptionsTimes);
}

/** Refuses a listener of an event that would come or not depending on the server's revision. */
function refuseToolsChanged(event: string | symbol): void {
  if (event === "toolsChanged") throw invalid('the event "toolsChanged" needs the option onToolsChanged of Client.connect: newer servers tell only clients that asked when they connected');
}

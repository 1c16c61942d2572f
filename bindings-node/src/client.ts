// Clients.
import type { EventEmitter } from "node:events";

import { Connection, type ConnectTarget, type ServersOf } from "./connection.js";
import { checkFunction, checkSignal, invalid } from "./errors.js";
import type { TrunklineError } from "./generated/errors.js";
import type { JsonObject, Root } from "./generated/model.js";
import { ClientOperations, notifications, type ConnectionDescription } from "./generated/operations.js";
import { clientOptionsTimes, oauthOptionsTimes, type ChildOptions, type ClientOptions, type EndpointOptions, type OAuthOptions } from "./generated/options.js";
import { notified, operations, type NotificationHandlers, type RequestHandlers } from "./generated/server-requests.js";
import { isTransport } from "./generated/transport.js";
import { callBack } from "./log.js";
import { checkNames } from "./option-names.js";
import { port } from "./port.js";
import { Server } from "./server.js";
import { deadlineOf, inMilliseconds } from "./times.js";

/** A notification from the server. */
export interface Notification {
  /** The method, such as `notifications/message`. */
  method: string;
  /** The parameters; empty if there are none. */
  params: JsonObject;
}

/** Options of a connection, and the client's handlers. All times are in milliseconds. */
export interface ConnectOptions extends ClientOptions, EndpointOptions, ChildOptions, RequestHandlers, NotificationHandlers {
  /**
   * Called for each notification from the server, including those that arrive before listeners are
   * added.
   */
  onNotification?: ((notification: Notification) => void) | undefined;
  /**
   * An access token, or how to get one: `{}` discovers the authorization server and opens the
   * browser.
   */
  auth?: string | OAuthOptions | undefined;
  /** Aborts connecting. */
  signal?: AbortSignal | undefined;
  /**
   * For tests with a server in this process: requests reject with the error that the handler threw
   * instead of an internal error. Default: false.
   */
  raiseExceptions?: boolean | undefined;
}

/** The events of a client. */
// A type, because an interface doesn't match the index signature of EventEmitter.
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions
export type ClientEvents = {
  /**
   * The server's tools have changed. Only emitted if `onToolsChanged` was passed to `connect`;
   * otherwise, adding a listener throws.
   */
  toolsChanged: [];
  /**
   * A notification from the server. Use the option `onNotification` to also receive the earliest
   * ones.
   */
  notification: [notification: Notification];
  /** The connection was closed, by `close` or because of an error. */
  close: [error?: TrunklineError];
};

/** The base of {@link Client} and {@link ClientGroup}. */
export abstract class ConnectedClient extends ClientOperations<ClientEvents> {
  readonly #connection: Connection;
  #opened: ConnectionDescription = { revision: "", capabilities: {} };

  /** @internal */
  protected static async open<C extends ConnectedClient>(make: (connection: Connection) => C, target: ConnectTarget | ServersOf, options: ConnectOptions): Promise<C> {
    const { headers, ca, clientCertificate, clientKey, proxy, ...notHttp } = options;
    const { cwd, env, inheritEnv, stderr, stderrFile, auth, signal, raiseExceptions, telemetry, ...others } = notHttp;
    checkSignal(signal);
    if (others.onNotification !== undefined) checkFunction(others.onNotification, "onNotification");
    const connection = new Connection();
    const { handlers } = connection;
    handlers.add(others);
    if (isTransport(target)) handlers.addTransport(target);
    connection.raiseExceptions = raiseExceptions ?? false;
    const client = make(connection);
    const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !(name === "onNotification" || name in operations || name in notified)));
    const settings = { ...inMilliseconds(rest, clientOptionsTimes), listen: handlers.listens || undefined, telemetry: port().observes(telemetry) };
    const transportOptions = { http: { headers, ca, clientCertificate, clientKey, proxy }, child: { cwd, env, inheritEnv, stderr, stderrFile } };
    const credentials = typeof auth === "string" ? { token: auth } : auth && inMilliseconds(auth, oauthOptionsTimes);
    const config = { client: settings, handlers: handlers.lanes(), auth: credentials };
    client.#opened = (await connection.connect(target, transportOptions, config, signal)) as ConnectionDescription;
    if (target instanceof Server && !handlers.listens && !others.onNotification) {
      // Without listeners, only pending requests need to keep the process alive.
      client.unref().once("newListener" as "notification", () => client.ref());
    }
    return client;
  }

  protected constructor(connection: Connection, { onToolsChanged, onNotification }: ConnectOptions = {}) {
    if (!((connection as unknown) instanceof Connection)) throw invalid(`new ${new.target.name}(…) does not connect: use await ${new.target.name}.connect(…)`);
    super(connection);
    this.#connection = connection;
    if (onNotification) this.on("notification", onNotification);
    if (!onToolsChanged) (this as EventEmitter).on("newListener", refuseToolsChanged);
    connection.receiveNotification = (method, params) => {
      connection.handlers.notify(method, params);
      this.#emit("notification", { method, params });
      if (method === notifications.toolsChanged) this.#emit("toolsChanged");
    };
    void connection.end.then((error) => this.#emit("close", error));
  }

  /**
   * Adds handlers, replacing those of the same name. Servers of revisions before 2026-07-28 only
   * accept handlers for capabilities that were declared, by a handler, when the client connected.
   *
   * @throws {@link InvalidArgumentError} if a name is unknown, or it is too late to declare a
   *   handler's capability.
   */
  setHandlers(handlers: RequestHandlers): void {
    checkNames(handlers, Object.keys(operations));
    this.#connection.notify({ handlers: this.#connection.handlers.lanes(handlers) });
    this.#connection.handlers.add(handlers);
  }

  /**
   * Changes the roots. Servers of revisions before 2026-07-28 are notified; newer ones request the
   * roots when needed.
   *
   * @throws {@link ClosedError} if the connection has ended.
   * @deprecated Since 2026-07-28: use tool arguments, resource URIs or configuration instead.
   */
  setRoots(roots: readonly Root[]): void {
    this.#connection.notify({ roots });
  }

  /**
   * Closes the connection; requests in flight fail. A server that the client started gets
   * `deadline` milliseconds to exit on its own (default: `closeTimeout`).
   *
   * @throws {@link InvalidArgumentError} if the deadline is not a valid time.
   */
  async close(options: { deadline?: number | undefined } = {}): Promise<void> {
    await this.#connection.close(deadlineOf(options));
  }

  /** False once the client was closed or has lost a server that it cannot reach again. */
  get isConnected(): boolean {
    return this.#connection.isOpen;
  }

  /**
   * Keeps the event loop alive while connected, which is the default. For a server in this process,
   * it is the default only if there are handlers or listeners for its messages.
   */
  ref(): this {
    this.#connection.ref();
    return this;
  }

  /** Lets the process exit while connected, unless a request is in flight. */
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
   * The process id of the server, if this client started it and it is running. It changes when the
   * server is restarted.
   */
  override get pid(): number | undefined {
    return this.#connection.describe().pid;
  }

  /** Calls each listener. An exception in one does not affect the others. */
  #emit(event: "notification" | "toolsChanged" | "close", ...args: unknown[]): void {
    for (const listener of (this as EventEmitter).rawListeners(event)) callBack(`a listener of "${event}"`, () => Reflect.apply(listener, this, args) as unknown, []);
  }
}

/** A connection to a server. */
export class Client extends ConnectedClient {
  /**
   * Connects and negotiates.
   *
   * @throws {@link TransportError} if the server cannot be reached or started; see its `reason`.
   * @throws {@link VersionError} if client and server share no revision.
   * @throws {@link AuthorizationRequiredError} if the server requires a token and none is
   *   available.
   * @throws {@link InvalidArgumentError} if an option is unknown or invalid.
   */
  static connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client> {
    return Client.open((connection) => new Client(connection, options), target, options);
  }
}

/** Refuses a listener of an event that only servers of some revisions would send. */
function refuseToolsChanged(event: string | symbol): void {
  if (event === "toolsChanged") throw invalid('the event "toolsChanged" needs the option onToolsChanged of Client.connect: newer servers notify only clients that subscribed when they connected');
}

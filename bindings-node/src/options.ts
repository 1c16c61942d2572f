// Options of servers and listeners, and their form in messages to the core.
import type { TokenVerifier } from "./auth.js";
import { base64 } from "./content.js";
import type { ErrorHook } from "./features/feature.js";
import type { Implementation } from "./generated/model.js";
import * as generated from "./generated/options.js";
import { notified, operations } from "./generated/server-requests.js";
import type { Store } from "./generated/store.js";
import type { OpenLifespan } from "./lifespan.js";
import type { StoreCallables } from "./store.js";
import { inMilliseconds } from "./times.js";

/** Name and version of the server. */
export type ServerInfo = Implementation;

/** Limits and behavior of a server. All times are in milliseconds. */
export interface ServerOptions extends Omit<generated.ServerOptions, "store"> {
  /**
   * Keeps tasks, sessions of older revisions, and used request states and DPoP proofs in a store,
   * so that they outlive the process and several processes can share them: a URL (`memory:`,
   * `sqlite:PATH`, `redis://…` or `rediss://…`), or a custom store.
   */
  store?: string | Store | undefined;
  /** Instructions for the model. */
  instructions?: string | undefined;
  /** Called with errors thrown by handlers if the caller gets a generic message. */
  onError?: ErrorHook | undefined;
  /**
   * Opens what calls need before the first call on any transport. The value is `ctx.lifespan`; its
   * `[Symbol.asyncDispose]` or `[Symbol.dispose]` is called when nothing serves or uses the server
   * anymore.
   */
  lifespan?: OpenLifespan | undefined;
}

/** Access tokens that requests to an endpoint need. By default these are JWTs. */
export interface AuthOptions extends generated.AuthOptions {
  /** Verifies tokens instead of the built-in JWT verifier. */
  verifier?: TokenVerifier | undefined;
}

/** Options of a listener. All times are in milliseconds. */
export interface ListenOptions extends generated.HttpOptions {
  /** Requires a valid access token. */
  auth?: AuthOptions | undefined;
}

/** Options of every endpoint. All times are in milliseconds. */
export type HttpOptions = Omit<ListenOptions, "host" | "port" | "path" | "unix" | "unixMode" | "maxConnections">;

/** Options of a server inside a web framework. All times are in milliseconds. */
export interface MountOptions extends HttpOptions {
  /** The only path that is served, with or without a slash at its end. Default: every path. */
  path?: string | undefined;
}

/** The options of a server that are functions. */
export const serverHooks: readonly (keyof ServerOptions)[] = ["onError", "lifespan"];

/** The options of listeners and connections that are functions. */
export const transportHooks = ["verifier", "onNotification", ...Object.keys(operations), ...Object.keys(notified)];

/** The options of servers, listeners and clients that are no options of the core. */
export const taken = {
  server: ["instructions", ...serverHooks],
  listener: ["auth"],
  client: [
    ...["auth", "signal", "raiseExceptions", "headers", "ca", "clientCertificate", "clientKey", "proxy"],
    ...["cwd", "env", "inheritEnv", "stderr", "stderrFile", ...transportHooks.slice(1)],
  ],
} as const;

/** Returns the message that registers a server. */
export function describeServer(info: ServerInfo, { instructions, store, ...others }: Omit<ServerOptions, "onError" | "lifespan">, own: StoreCallables | undefined): object {
  const options = { ...others, store: own ? undefined : (store as string | undefined) };
  // The core checks values of other types.
  const stateKeys = Array.isArray(options.stateKeys) ? options.stateKeys.map((key: unknown) => (key instanceof Uint8Array ? base64(key) : key)) : options.stateKeys;
  const lanes = own && Object.fromEntries([...own.keys()].map((name) => [name, "queue"]));
  return { info, instructions, store: lanes, options: { ...inMilliseconds(options, generated.serverOptionsTimes), stateKeys } };
}

/** Returns the transport of a listener with the handle of its verifier. */
export function describeHttp({ auth, ...options }: ListenOptions, verifier: number | undefined): object {
  return { type: "http", ...inMilliseconds(options, generated.httpOptionsTimes), auth: auth && { ...auth, verifier } };
}

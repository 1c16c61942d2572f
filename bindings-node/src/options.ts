// Options of servers and listeners, and their form in the messages of the contract.
import type { TokenVerifier } from "./auth.js";
import { base64 } from "./content.js";
import type { CacheScope, Implementation, JsonObject } from "./model.js";
import { milliseconds } from "./times.js";

/** Name and version of the server. */
export type ServerInfo = Implementation;

/** All times are in milliseconds. */
export interface ServerOptions {
  /** How to use this server, for the model. */
  instructions?: string;
  /** Things in one page of a list; 1000. */
  pageSize?: number;
  /** Shows callers why a handler failed, instead of a generic text; false. */
  debug?: boolean;
  /** Calls of one session that run at the same time; 64. */
  maxRunning?: number;
  /** Calls of one session that wait to run; 1024. */
  maxWaiting?: number;
  /** Bytes of these together; 64 MiB. */
  maxWaitingBytes?: number;
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
  /** Between comments that keep a stream alive; 15 seconds. 0: none. */
  keepAlive?: number;
  /** How long clients may keep lists; 0. */
  ttl?: number;
  /** Who may keep them; `private`. */
  cacheScope?: CacheScope;
  /**
   * Keys of 32 bytes (or their base64) that seal what handlers keep between rounds of input: the first seals, all open. Processes that serve the same
   * clients share them; without them, a random key of this process.
   */
  stateKeys?: readonly (string | Uint8Array)[];
  /** How long a client may take to come back with an answer; 1 hour. */
  stateLifetime?: number;
  /** Rounds of input in one request; 16. */
  maxRounds?: number;
  /** How long a person may take to answer where the request stays open meanwhile (before 2026-07-28); 10 minutes. */
  inputTimeout?: number;
  /** Runs handlers again for each answer on every revision, as 2026-07-28 does: to test that they bear it; false. */
  rerunHandlers?: boolean;
  /** How long tasks are kept; 1 hour. */
  taskTtl?: number;
  /** How often clients should ask for them; 500. */
  taskPollInterval?: number;
  /** Tasks at the same time; 10,000. */
  maxTasks?: number;
  /** Of them, those of one principal, or of one session or pipe where nobody is asked for a token; 1000. */
  maxTasksPerClient?: number;
  /** Settings of the extensions that this server speaks, by their ids. */
  extensions?: Readonly<Record<string, JsonObject>>;
  /** Settings of experimental capabilities, by their names. */
  experimental?: Readonly<Record<string, JsonObject>>;
}

/** The message that registers a server. */
export function describeServer(info: ServerInfo, options: ServerOptions): object {
  const { instructions, sessionIdle, drainDeadline, keepAlive, ttl, stateKeys, stateLifetime, inputTimeout, taskTtl, taskPollInterval, ...same } = options;
  const times = {
    sessionIdleMs: milliseconds(sessionIdle, "sessionIdle"),
    drainDeadlineMs: milliseconds(drainDeadline, "drainDeadline"),
    keepAliveMs: milliseconds(keepAlive, "keepAlive"),
    ttlMs: milliseconds(ttl, "ttl"),
    stateLifetimeMs: milliseconds(stateLifetime, "stateLifetime"),
    inputTimeoutMs: milliseconds(inputTimeout, "inputTimeout"),
    taskTtlMs: milliseconds(taskTtl, "taskTtl"),
    taskPollIntervalMs: milliseconds(taskPollInterval, "taskPollInterval"),
  };
  return { info, instructions, options: { ...same, ...times, stateKeys: stateKeys?.map(base64) } };
}

/** What listening and being mounted in a web framework have in common. All times are in milliseconds. */
export interface HttpOptions {
  /** Serves legacy clients without sessions, as is needed where several processes share the requests; false. */
  stateless?: boolean;
  /** Answers with JSON instead of an event stream wherever that is possible; false. */
  json?: boolean;
  /** Values of the Host header that are served beside loopback names; `"*"` allows all. */
  allowedHosts?: string[];
  /** Values of the Origin header that are served beside loopback origins; `"*"` allows all. */
  allowedOrigins?: string[];
  /** Where clients of HTTP+SSE (2024-11-05) open their stream; `/sse`. `false`: they are not served. */
  sse?: string | false;
  /** Where they post; `/messages`. */
  messages?: string;
  /** Events that each session keeps for clients whose connection breaks; 1000. 0: none. */
  replayEvents?: number;
  /** Bytes of them; 4 MiB. */
  replayBytes?: number;
  /** When a client may come back to a stream that was closed early; 1 second. */
  retry?: number;
  /** Requests without a session at the same time, until their calls have ended; 4096. */
  maxRequests?: number;
  /** Bytes of the bodies that are read and served at the same time; 256 MiB, and never less than one message. */
  maxBodyBytes?: number;
  /** Lets in only who has an access token. */
  auth?: AuthOptions;
}

/** Where and how to listen. */
export interface ListenOptions extends HttpOptions {
  /** 8000; 0 takes one that is free. */
  port?: number;
  /** 127.0.0.1. */
  host?: string;
  /** /mcp. */
  path?: string;
  /** A Unix socket, in the place of `host` and `port`. */
  unix?: string;
  /** Its permissions in octal digits; `"600"`. */
  unixMode?: string;
  /** Connections at the same time; 16,384. */
  maxConnections?: number;
}

/** How a server is reached inside a web framework. */
export interface MountOptions extends HttpOptions {
  /** The only path that is served, with or without a slash at its end; by default every path, for the framework has chosen it already. */
  path?: string;
}

/** The transport of a listener, with the handle of the verifier in place of the function. */
export function describeHttp({ retry, auth, ...same }: ListenOptions | MountOptions, verifier: number | undefined): object {
  return { type: "http", ...same, retryMs: milliseconds(retry, "retry"), auth: auth && { ...auth, verifier } };
}

/** Who may come in. By default tokens are JWTs, and the keys are found where the issuer's metadata says. */
export interface AuthOptions {
  /** The public URL of the endpoint: what tokens must be issued for. */
  resource: string;
  /** Whose JWTs are accepted; by default `authorizationServers`. */
  issuer?: string | string[];
  /** Where clients get tokens; by default `issuer`. */
  authorizationServers?: string[];
  /** What `aud` must name one of, if that is not `resource`. */
  audience?: string | string[];
  /** The issuer's keys, */
  jwks?: JsonObject;
  /** or where they are. */
  jwksUri?: string;
  /** How tokens may be signed; by default in every way that is known. */
  algorithms?: string[];
  /** What every request needs. */
  requiredScopes?: string[];
  /** What clients are told to ask for; by default `requiredScopes`. */
  scopes?: string[];
  /** Scopes that imply narrower ones. */
  implies?: Record<string, string[]>;
  /** Tokens that are bound to keys (RFC 9449); `off`. */
  dpop?: "off" | "optional" | "required";
  dpopAlgorithms?: string[];
  /** Proofs need a nonce of the server; a secret (32 bytes or more, in base64) is shared by all processes of the endpoint. */
  dpopNonce?: boolean | string;
  /** The URL of the endpoint as clients see it, where a proxy changes the path. */
  publicUrl?: string;
  /** Further members of the metadata document (RFC 9728), such as `resource_name`. */
  metadata?: JsonObject;
  /** Judges tokens in the place of the built-in verifier of JWTs. */
  verifier?: TokenVerifier;
}

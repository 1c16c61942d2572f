// What a server says of itself, and its limits and habits.
import { base64 } from "./content.js";
import type { CacheScope, Implementation, JsonObject } from "./model.js";
import { milliseconds } from "./times.js";

/** Who the server is. */
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
  replay?: boolean;
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

/** The same in the words of the contract. */
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

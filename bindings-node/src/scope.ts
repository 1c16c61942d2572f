// The context of calls that come of something that this thread does.
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The context of the calls that an exchange, a request in memory or `next` of a middleware
 * causes.
 */
export class CallScope {
  /** Runs a function in the asynchronous context in which this was made. */
  readonly run = AsyncLocalStorage.snapshot();
  /** The values of the request that the calls belong to, if it has begun already. */
  readonly vars: Map<string, unknown> | undefined;
  /** The exception that ended the call, which may be undefined itself. */
  failure: { thrown: unknown; internal: boolean } | undefined;

  constructor(vars?: Map<string, unknown>) {
    this.vars = vars;
  }
}

/** The part of a server that its calls need. */
export interface Owner {
  onError: ((error: unknown, context: never) => void) | undefined;
  /** The value of the lifespan. */
  lifespan: unknown;
}

/**
 * Scopes by the ticket of their exchange or request, until nothing comes of it any more: calls of
 * tasks begin after the response. All servers of a thread have its port.
 */
export type CallScopes = Map<number, CallScope>;

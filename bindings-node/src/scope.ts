// The context of calls that are caused by something that this thread does.
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The context of the calls caused by an exchange, an in-memory request or a middleware's `next`.
 */
export class CallScope {
  /** Runs a function in the asynchronous context in which this was created. */
  readonly run = AsyncLocalStorage.snapshot();
  /** The exception that ended the call, which may itself be undefined. */
  failure: { thrown: unknown; internal: boolean } | undefined;

  constructor(
    /** The values of the request that the calls belong to, if it has begun. */
    readonly vars?: Map<string, unknown>,
  ) {}
}

/** The part of a server that its calls need. */
export interface Owner {
  onError: ((error: unknown, context: never) => void) | undefined;
  /** What the lifespan opened. */
  lifespan: { readonly value: unknown };
}

/**
 * Scopes by the ticket of their exchange or request, kept until it can cause no more calls: calls
 * of tasks begin after the response. All servers of a thread share its port.
 */
export type CallScopes = Map<number, CallScope>;

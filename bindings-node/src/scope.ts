// The context of calls that are caused by something that this thread does.
import { AsyncResource } from "node:async_hooks";

/**
 * The context of the calls caused by an exchange, an in-memory request or a middleware's `next`.
 * It runs them in the asynchronous context in which it was created. (`AsyncLocalStorage.snapshot`
 * does so too, but is slow to create.)
 */
export class CallScope extends AsyncResource {
  /** The exception that ended the call, which may itself be undefined. */
  failure: { thrown: unknown; internal: boolean } | undefined;

  constructor(
    /** The values of the request that the calls belong to, if it has begun. */
    readonly vars?: Map<string, unknown>,
  ) {
    super("trunkline.CallScope");
  }
}

/** The part of a server that its calls need. */
export interface Owner {
  onError: ((error: unknown, context: never) => void) | undefined;
  /** The value that the lifespan opened. */
  lifespan: { readonly value: unknown };
}

/**
 * Scopes by the ticket of their exchange or request, kept until it can cause no more calls: calls
 * of tasks begin after the response. All servers of a thread share its port.
 */
export type CallScopes = Map<number, CallScope>;

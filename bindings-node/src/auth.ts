// Access tokens: the identities that they stand for, and custom verifiers of them.
import type { JsonObject } from "./generated/model.js";

/** An access token to verify. */
export interface AccessToken {
  token: string;
  scheme: "Bearer" | "DPoP";
  /** Method of the HTTP request. */
  method: string;
  /** URL of the HTTP request. */
  url: string;
  /** The resource that the token must be issued for. */
  resource: string;
}

/**
 * The identity that an access token stands for, in handlers `ctx.auth`. One of `principal`,
 * `subject` and `clientId` is required.
 */
export interface Identity {
  /** Names the caller among all. By default `ISSUER#sub:SUBJECT`, then `ISSUER#client:CLIENT`. */
  principal?: string;
  subject?: string;
  clientId?: string;
  issuer?: string;
  scopes?: string[];
  /** In seconds since 1970. */
  expiresAt?: number;
  claims?: JsonObject;
}

/**
 * Verifies a token. It must refuse tokens for another `resource`. `null` and `undefined`: an unknown
 * token. A {@link TokenError} gives the reason of a refusal; any other error is logged, and the
 * client is asked to retry later.
 */
export type TokenVerifier = (token: AccessToken) => Identity | null | undefined | Promise<Identity | null | undefined>;

/** Thrown by a token verifier: the request is refused, and the client is given the reason. */
export class TokenError extends Error {
  constructor(
    message: string,
    /** The scopes that the request needs and the token lacks. */
    readonly scopes?: readonly string[],
  ) {
    super(message);
    this.name = "TokenError";
  }
}

// Custom verifiers of access tokens.
import type { AccessToken, Identity } from "./generated/model.js";

/**
 * Verifies a token. It must refuse tokens for another `resource`. `null` and `undefined`: an
 * unknown token. A {@link TokenError} gives the reason of a refusal; any other error is logged, and
 * the client is asked to retry later.
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

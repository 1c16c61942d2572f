// Custom verifiers of access tokens.
import type { AccessToken, Identity } from "./generated/model.js";
import { TokenFacts, type VerificationDescription } from "./generated/token-facts.js";

/**
 * An access token to verify, with details of the HTTP request that carries it. The details are
 * fetched lazily and are only available until the verifier returns.
 */
export class PresentedToken extends TokenFacts {
  readonly #describe: () => VerificationDescription;

  /**
   * Creates a token whose request is described by `describe`; tests can pass their own function.
   */
  constructor(token: AccessToken, describe: () => VerificationDescription) {
    super(token);
    this.#describe = describe;
  }

  /** @internal */
  protected override get described(): VerificationDescription {
    return this.#describe();
  }
}

/**
 * Verifies an access token: returns the caller's identity, or `null` or `undefined` for an unknown
 * token. It must reject tokens issued for another `resource`.
 *
 * Throw a {@link TokenError} to give the client a reason. Any other error is logged, and the client
 * is asked to retry later.
 */
export type TokenVerifier = (token: PresentedToken) => Identity | null | undefined | Promise<Identity | null | undefined>;

/** Thrown by a token verifier to reject the request; the client gets the reason. */
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
Object.defineProperty(TokenError.prototype, Symbol.for("trunkline.class"), { value: "TokenError" });

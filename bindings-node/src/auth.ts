// Custom verifiers of access tokens.
import type { AccessToken, Identity, TokenScheme } from "./generated/model.js";
import { TokenFacts, type VerificationDescription } from "./generated/token-facts.js";

/**
 * An access token to verify, with details of the HTTP request that carries it. The details are
 * fetched lazily and are only available until the verifier returns.
 */
export class PresentedToken extends TokenFacts implements AccessToken {
  /** The token. It is the client's secret: don't log it or pass it on. */
  readonly token: string;
  /** The scheme of the `Authorization` header. */
  readonly scheme: TokenScheme;
  /** The method of the HTTP request. */
  readonly method: string;
  /** The public URL of the HTTP request, without its query. */
  readonly url: string;
  /** The resource that the token must be issued for. */
  readonly resource: string;
  readonly #describe: () => VerificationDescription;

  /**
   * Creates a token whose request is described by `describe`; tests can pass their own function.
   */
  constructor({ token, scheme, method, url, resource }: AccessToken, describe: () => VerificationDescription) {
    super();
    this.token = token;
    this.scheme = scheme;
    this.method = method;
    this.url = url;
    this.resource = resource;
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

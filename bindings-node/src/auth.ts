// Custom verifiers of access tokens.
import type { AccessToken, Identity, TokenScheme } from "./generated/model.js";
import { TokenFacts, type VerificationDescription } from "./generated/token-facts.js";

/**
 * An access token to verify, with the facts of the HTTP request that presents it. They are fetched
 * when they are asked for, until the verifier has answered.
 */
export class PresentedToken extends TokenFacts implements AccessToken {
  /** The token. It is a secret of the client: neither log it nor pass it on. */
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

  /** A token and the function that describes its request. Tests can supply one. */
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
 * Verifies a token. It must refuse tokens for another `resource`. `null` and `undefined`: an
 * unknown token. A {@link TokenError} gives the reason of a refusal; any other error is logged, and
 * the client is asked to retry later.
 */
export type TokenVerifier = (token: PresentedToken) => Identity | null | undefined | Promise<Identity | null | undefined>;

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

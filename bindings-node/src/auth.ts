// Access tokens: what a server asks for, and verifiers of one's own.
import type { JsonObject } from "./model.js";
import type { Offer } from "./offers/offer.js";
import { checkHandler } from "./offers/offer.js";
import { valueOf } from "./returns.js";

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

/** A token to judge. */
export interface AccessToken {
  token: string;
  scheme: "Bearer" | "DPoP";
  /** Of the HTTP request. */
  method: string;
  url: string;
  /** What the token must be issued for. */
  resource: string;
}

/** Whom a token stands for. One of `principal`, `subject` and `clientId` must be there; what handlers see in `ctx.auth`. */
export interface Identity {
  /** By default the subject, then the client. */
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
 * Judges a token; it must refuse those that are not for `resource`. Nothing: the token is unknown. A {@link TokenError} says why it is refused;
 * anything else that is thrown is logged, and the client is told to come back later.
 */
export type TokenVerifier = (token: AccessToken) => Identity | null | undefined | Promise<Identity | null | undefined>;

/** Thrown by a verifier of tokens: the request is refused, and the client told why. */
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

export function verifierOffer(verifier: TokenVerifier): Offer {
  checkHandler(verifier, "a verifier of tokens");
  return { kind: "verifier", description: {}, callable: { run: (token: AccessToken) => verifier(token), answer: valueOf } };
}

// Verifiers of access tokens.
import { PresentedToken, type TokenVerifier } from "../auth.js";
import type { Context } from "../context.js";
import type { AccessToken } from "../generated/model.js";
import type { VerificationDescription } from "../generated/token-facts.js";
import { checkHandler, type Feature } from "./feature.js";

export function verifierFeature(verifier: TokenVerifier): Feature {
  checkHandler(verifier, "a verifier of tokens");
  const run = (token: AccessToken, context: Context): unknown =>
    verifier(new PresentedToken(token, () => context.described as unknown as VerificationDescription));
  return { kind: "verifier", description: {}, callable: { run } };
}

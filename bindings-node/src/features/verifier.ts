// Verifiers of access tokens.
import type { TokenVerifier } from "../auth.js";
import type { AccessToken } from "../generated/model.js";
import { valueOf } from "../returns.js";
import { checkHandler, type Feature } from "./feature.js";

export function verifierFeature(verifier: TokenVerifier): Feature {
  checkHandler(verifier, "a verifier of tokens");
  return { kind: "verifier", description: {}, callable: { run: (token: AccessToken) => verifier(token), answer: valueOf } };
}

package dev.trunkline.java;

import org.jspecify.annotations.Nullable;

/**
 * How a server verifies access tokens.
 *
 * @param <O> The class of the options.
 */
public abstract class AuthSettings<O> extends Options<O> {
  @Nullable TokenVerifier verifier;

  AuthSettings() {}

  /** Verifies access tokens. Not needed if they are JWTs whose keys the options name. */
  public O verifier(TokenVerifier verifier) {
    this.verifier = verifier;
    return self();
  }
}

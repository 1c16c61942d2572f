package dev.trunkline.java;

import dev.trunkline.java.model.Identity;
import org.jspecify.annotations.Nullable;

/** Verifies access tokens, which must be for the {@code resource} of the request. */
@FunctionalInterface
public interface TokenVerifier {
  /**
   * Returns the identity of the caller; null if the token is unknown.
   *
   * @throws TokenException to refuse a token with a message for the client
   */
  @Nullable Identity verify(TokenVerificationRequest request) throws Exception;
}

package dev.trunkline.java;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Thrown by a {@link TokenVerifier} to refuse a token with a message for the client. */
public final class TokenException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final transient @Nullable List<String> scopes;

  /** Refuses a token. */
  public TokenException(String message) {
    this(message, null);
  }

  /** Refuses a token that lacks scopes. */
  public TokenException(String message, @Nullable List<String> scopes) {
    super(message);
    this.scopes = scopes;
  }

  /** Returns the scopes that the token lacks, if any. */
  public @Nullable List<String> scopes() {
    return scopes;
  }
}

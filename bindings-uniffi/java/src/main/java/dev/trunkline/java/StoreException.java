package dev.trunkline.java;

import org.jspecify.annotations.Nullable;

/** Thrown by a {@link Store}. Any other exception of a store means that it is unavailable. */
public final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Reason reason;

  /** An exception with its reason and cause. */
  public StoreException(String message, Reason reason, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  /** Returns the reason. */
  public Reason reason() {
    return reason;
  }

  /** Why a store has failed. */
  public enum Reason {
    /** The store cannot be reached. */
    UNAVAILABLE,

    /** The store has no space. */
    FULL,

    /** The store contains unreadable data. */
    CORRUPT
  }
}

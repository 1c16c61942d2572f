package dev.trunkline.java;

import org.jspecify.annotations.Nullable;

/** Thrown by a tool handler to give the caller a result with {@code isError} and this message. */
public final class ToolException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** An exception with a message for the caller. */
  public ToolException(String message) {
    this(message, null);
  }

  /** An exception with a message for the caller, and its cause. */
  public ToolException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}

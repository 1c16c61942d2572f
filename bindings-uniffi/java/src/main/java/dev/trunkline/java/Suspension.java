package dev.trunkline.java;

/**
 * Ends a handler whose request to its client is answered in another run of the handler. Not an
 * exception, so that code that catches exceptions lets it pass.
 */
final class Suspension extends Error {
  private static final long serialVersionUID = 1;

  Suspension(Throwable cause) {
    super(cause.getMessage(), cause, false, false);
  }
}

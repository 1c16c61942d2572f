package dev.trunkline.java;

/**
 * Handles requests to a client.
 *
 * @param <P> The parameters.
 * @param <R> The result.
 */
@FunctionalInterface
public interface ClientHandler<P, R> {
  /** Returns the result. */
  R handle(P params) throws Exception;
}

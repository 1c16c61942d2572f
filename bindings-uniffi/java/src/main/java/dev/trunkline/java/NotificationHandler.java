package dev.trunkline.java;

/**
 * Handles notifications to a client.
 *
 * @param <P> The parameters.
 */
@FunctionalInterface
public interface NotificationHandler<P> {
  /** Handles a notification. The next one waits until it returns. */
  void handle(P params);
}

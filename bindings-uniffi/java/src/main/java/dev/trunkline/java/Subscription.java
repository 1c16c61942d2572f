package dev.trunkline.java;

import dev.trunkline.java.model.Change;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.jvm.JvmStream;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Changes at a server, in order of arrival. It survives reconnects, and must be closed. Iterating
 * waits for each change, until the subscription ends.
 */
public final class Subscription implements AutoCloseable, Iterable<Change> {
  private final JvmStream stream;

  Subscription(JvmStream stream) {
    this.stream = stream;
  }

  /** Returns the part of the filter that the server accepted. */
  public SubscriptionFilter honored() {
    return Futures.read(stream.getResult(), SubscriptionFilter.class);
  }

  /** Returns a future of the next change; of null once the subscription has ended. */
  public CompletableFuture<@Nullable Change> nextAsync() {
    return stream.next(json -> Futures.read(json, Change.class));
  }

  @Override
  public Iterator<Change> iterator() {
    return Futures.items(this::nextAsync);
  }

  /** Ends the subscription. */
  @Override
  public void close() {
    stream.close();
  }
}

package dev.trunkline.java;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Waits for the items of a stream, one after another. */
final class Items<T> implements Iterator<T> {
  private final Supplier<CompletableFuture<@Nullable T>> fetch;
  private @Nullable T next;
  private boolean isFetched;

  Items(Supplier<CompletableFuture<@Nullable T>> fetch) {
    this.fetch = fetch;
  }

  @Override
  public boolean hasNext() {
    if (!isFetched) {
      next = Futures.wait(fetch.get());
      isFetched = true;
    }
    return next != null;
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the stream has ended");
    }
    isFetched = false;
    return next;
  }
}

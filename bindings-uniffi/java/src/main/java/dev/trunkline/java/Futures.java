package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;
import java.util.Iterator;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Waits for futures, and converts them. */
final class Futures {
  private Futures() {}

  /** Waits for a result. An interrupt of the thread cancels it. */
  static <T> T wait(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      if (future.cancel(true)) {
        throw new RequestCancelledException("the thread was interrupted");
      }
      // The future has just completed, perhaps with something to close.
      return wait(future);
    } catch (ExecutionException | CancellationException failed) {
      throw thrown(causeOf(failed));
    }
  }

  /** A future of a model. Cancelling it cancels the request. */
  static <T> CompletableFuture<T> map(CompletableFuture<@Nullable Object> reply, Class<T> type) {
    return map(reply, json -> type == Void.class ? null : read(json, type));
  }

  /** A future of a member of a model. */
  static <T, R> CompletableFuture<R> map(
      CompletableFuture<@Nullable Object> reply, Class<T> type, Function<T, R> member) {
    return map(reply, json -> member.apply(read(json, type)));
  }

  /** Reads a message of a peer. */
  static <T> T read(@Nullable Object json, Class<T> type) {
    return received("a message of the peer is not valid", () -> Mapper.read(json, type));
  }

  /** Reads what a peer has sent. */
  static <T extends @Nullable Object> T received(String problem, Supplier<T> read) {
    try {
      return read.get();
    } catch (IllegalArgumentException reason) {
      throw new TransportException(problem + ": " + reason.getMessage());
    }
  }

  static <T, R> CompletableFuture<R> map(
      CompletableFuture<T> source, Function<T, @Nullable R> convert) {
    var mapped = source.<R>thenApply(convert);
    mapped.whenComplete(
        // If it was completed first, as by orTimeout, nobody needs the result.
        (result, thrown) -> source.cancel(true));
    return mapped;
  }

  /** Waits for the items of a stream, one after another. */
  static <T> Iterator<T> items(Supplier<CompletableFuture<@Nullable T>> fetch) {
    return Stream.generate(() -> wait(fetch.get())).takeWhile(Objects::nonNull).iterator();
  }

  /** Unwraps the error of a future or stage. */
  static Throwable causeOf(Throwable failed) {
    var isWrapper = failed instanceof CompletionException || failed instanceof ExecutionException;
    return isWrapper && failed.getCause() != null ? causeOf(failed.getCause()) : failed;
  }

  /** Waits for the result of a handler if it is a stage. */
  static @Nullable Object settled(@Nullable Object returned) throws Exception {
    if (!(returned instanceof CompletionStage<?> stage)) {
      return returned;
    }
    var future = stage.toCompletableFuture();
    try {
      return future.get();
    } catch (InterruptedException cancelled) {
      future.cancel(true);
      throw cancelled;
    } catch (ExecutionException failed) {
      if (causeOf(failed) instanceof Exception exception) {
        throw exception;
      }
      throw failed;
    }
  }

  /** The error for a caller that has waited: a new one, whose stack leads to the caller. */
  private static RuntimeException thrown(Throwable cause) {
    if (cause instanceof TrunklineException error && error.origin != null) {
      var again = TrunklineException.of(error.origin);
      again.initCause(error.getCause());
      return again;
    } else if (Jvm.isSuspended(cause)) {
      throw new Suspension(cause);
    } else if (cause instanceof Error error) {
      throw error;
    } else if (cause instanceof CancellationException) {
      return new RequestCancelledException("the request was cancelled");
    }
    return cause instanceof RuntimeException runtime ? runtime : new CompletionException(cause);
  }
}

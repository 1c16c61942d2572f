package dev.trunkline.java;

import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What a server has besides limits.
 *
 * @param <O> The class of the options.
 */
public abstract class ServerSettings<O> extends Options<O> {
  @Nullable String instructions;
  @Nullable Executor executor;
  @Nullable Store customStore;
  @Nullable Callable<?> lifespan;
  @Nullable BiConsumer<Throwable, Context> onError;

  ServerSettings() {}

  /** Instructions for the model. */
  public O instructions(String instructions) {
    this.instructions = instructions;
    return self();
  }

  /**
   * Runs handlers. Default: virtual threads, or before Java 21 as many threads as there are calls.
   */
  public O executor(Executor executor) {
    this.executor = executor;
    return self();
  }

  /** Keeps tasks and sessions, instead of the option with a URL. */
  public O store(Store store) {
    customStore = store;
    return self();
  }

  /**
   * Opens what calls need, before the first one. The value is {@link Context#lifespan}, and is
   * closed, if it is an {@link AutoCloseable}, when nothing serves or uses the server any more.
   */
  public O lifespan(Callable<?> open) {
    lifespan = () -> Failures.unchecked(open);
    return self();
  }

  /** Called with exceptions of handlers whose callers get a generic message. */
  public O onError(BiConsumer<Throwable, Context> report) {
    onError = report;
    return self();
  }
}

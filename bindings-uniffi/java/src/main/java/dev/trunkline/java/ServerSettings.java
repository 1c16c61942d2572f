package dev.trunkline.java;

import dev.trunkline.jvm.JvmCall;
import dev.trunkline.jvm.JvmFunction;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What a server has besides limits.
 *
 * @param <O> The class of the options.
 */
public abstract class ServerSettings<O> extends ExecutorSettings<O> {
  @Nullable String instructions;
  Map<String, JvmFunction> store = Map.of();
  @Nullable Callable<?> lifespan;
  @Nullable BiConsumer<Throwable, JvmCall> onError;

  ServerSettings() {}

  /** Instructions for the model. */
  public O instructions(String instructions) {
    this.instructions = instructions;
    return self();
  }

  /** Keeps tasks and sessions, instead of the option with a URL. */
  public O store(Store store) {
    this.store = Callables.of(Failures.given("the store", store));
    return self();
  }

  /**
   * Opens what calls need, before the first one. The value is {@link Context#lifespan}, and is
   * closed, if it is an {@link AutoCloseable}, when nothing serves or uses the server any more.
   */
  public O lifespan(Callable<?> open) {
    Failures.given("the lifespan", open);
    lifespan = () -> Failures.unchecked(open);
    return self();
  }

  /** Called with exceptions of handlers whose callers get a generic message. */
  public O onError(BiConsumer<Throwable, Context> report) {
    Failures.given("the handler", report);
    onError = (thrown, call) -> report.accept(Futures.causeOf(thrown), new Context(call));
    return self();
  }
}

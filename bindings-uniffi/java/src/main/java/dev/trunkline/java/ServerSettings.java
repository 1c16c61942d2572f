package dev.trunkline.java;

import dev.trunkline.jvm.JvmCall;
import dev.trunkline.jvm.JvmFunction;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of a server other than limits.
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

  /** Sets a custom store for tasks and sessions, instead of the option with a URL. */
  public O store(Store store) {
    this.store = Callables.of(Failures.given("the store", store));
    return self();
  }

  /**
   * Opens what calls need, before the first one. The value is {@link Context#lifespan}; an {@link
   * AutoCloseable} is closed once nothing serves or uses the server.
   */
  public O lifespan(Callable<?> open) {
    Failures.given("the lifespan", open);
    lifespan = () -> Failures.unchecked(open);
    return self();
  }

  /** Called with handler exceptions that are hidden from callers. */
  public O onError(BiConsumer<Throwable, Context> report) {
    Failures.given("the handler", report);
    onError = (thrown, call) -> report.accept(Futures.causeOf(thrown), new Context(call));
    return self();
  }
}

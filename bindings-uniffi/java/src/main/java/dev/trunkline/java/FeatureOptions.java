package dev.trunkline.java;

import dev.trunkline.java.model.Completion;
import dev.trunkline.java.model.CompletionRequest;
import dev.trunkline.jvm.JvmHandler;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options that tools, resources and prompts share.
 *
 * @param <O> The class of the options.
 */
public abstract class FeatureOptions<O> extends Options<O> {
  /** The members of the descriptor. */
  final Map<String, @Nullable Object> descriptor = new LinkedHashMap<>();

  final Map<String, JvmHandler> hooks = new LinkedHashMap<>();

  FeatureOptions() {}

  final O describe(String name, @Nullable Object value) {
    descriptor.put(name, Mapper.write(value));
    return self();
  }

  /** Takes the options of another object. */
  final O like(FeatureOptions<O> other) {
    values.putAll(other.values);
    descriptor.putAll(other.descriptor);
    hooks.putAll(other.hooks);
    return self();
  }

  /** Decides per caller, given its context, whether it can see and call the feature. */
  public O visible(Visibility decide) {
    Failures.given("the function", decide);
    hooks.put(
        "visible",
        Handling.of(Object.class, (context, body) -> decide.isVisible(context), Returns::value));
    return self();
  }

  /**
   * Suggests values of an argument of a prompt or a resource template: a list of strings, or a
   * {@link Completion}.
   */
  public O complete(String argument, Handler<CompletionRequest> suggest) {
    hooks.put("complete:" + argument, Handling.completing(suggest));
    return self();
  }

  /** Decides whether a caller can see a feature. */
  @FunctionalInterface
  public interface Visibility {
    /** Returns whether the caller can see and call the feature. */
    boolean isVisible(Context context) throws Exception;
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.JvmFeature;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A registered tool, resource, resource template or prompt, whose options can change.
 *
 * @param <O> The class of the options.
 */
public final class ChangeableRegistration<O> extends Registration {
  private final UnaryOperator<O> copy;
  private final BiFunction<O, @Nullable JvmFeature, JvmFeature> register;
  private O options;

  ChangeableRegistration(
      O options, UnaryOperator<O> copy, BiFunction<O, @Nullable JvmFeature, JvmFeature> register) {
    super(register.apply(options, null));
    this.copy = copy;
    this.register = register;
    this.options = options;
  }

  /**
   * Changes options, such as the description. Those that {@code change} doesn't set keep their
   * values.
   *
   * @throws InvalidArgumentException if the changed feature is invalid, which leaves it unchanged
   */
  public synchronized void update(Consumer<O> change) {
    var changed = Options.with(copy.apply(options), change);
    feature = register.apply(changed, feature);
    options = changed;
  }
}

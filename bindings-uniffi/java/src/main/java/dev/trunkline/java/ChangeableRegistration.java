package dev.trunkline.java;

import dev.trunkline.jvm.JvmFeature;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A registered tool, resource, resource template or prompt, whose options can change.
 *
 * @param <O> The class of the options.
 */
public final class ChangeableRegistration<O> extends Registration {
  private final Supplier<O> make;
  private final BiFunction<O, @Nullable JvmFeature, JvmFeature> register;
  private Consumer<O> changes;

  ChangeableRegistration(
      Supplier<O> make,
      Consumer<O> options,
      BiFunction<O, @Nullable JvmFeature, JvmFeature> register) {
    super(register.apply(Options.with(make.get(), options), null));
    this.make = make;
    this.register = register;
    changes = options;
  }

  /**
   * Changes options, such as the description. Those that {@code change} doesn't set keep their
   * values.
   *
   * @throws InvalidArgumentException if the changed feature is invalid; it then stays as it was
   */
  public synchronized void update(Consumer<O> change) {
    var changed = changes.andThen(change);
    feature = register.apply(Options.with(make.get(), changed), feature);
    changes = changed;
  }
}

package dev.trunkline.java;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options, each set by the method of its name.
 *
 * @param <O> The class of the options.
 */
public abstract class Options<O> {
  /** By their names in JSON. */
  final Map<String, @Nullable Object> values = new LinkedHashMap<>();

  Options() {}

  final O set(String name, @Nullable Object value) {
    values.put(name, Mapper.write(value));
    return self();
  }

  @SuppressWarnings("unchecked")
  final O self() {
    return (O) this;
  }

  static <T> T with(T options, Consumer<? super T> set) {
    set.accept(options);
    return options;
  }
}

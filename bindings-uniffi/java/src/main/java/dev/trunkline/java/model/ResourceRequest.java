package dev.trunkline.java.model;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The request to read a resource.
 *
 * @param uri The URI of the resource.
 * @param variables The values of the variables of the URI template; lists for those with {@code *}.
 */
public record ResourceRequest(String uri, @Nullable Map<String, Object> variables) {
  /** Returns the value of a variable of the URI template; null if the URI omits it. */
  public @Nullable String get(String name) {
    return variables != null && variables.get(name) instanceof String value ? value : null;
  }

  /** Returns the values of a variable with {@code *}. */
  public List<String> list(String name) {
    return variables != null && variables.get(name) instanceof List<?> values
        ? values.stream().map(String::valueOf).toList()
        : List.of();
  }
}

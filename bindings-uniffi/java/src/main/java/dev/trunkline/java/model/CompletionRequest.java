package dev.trunkline.java.model;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The request to complete an argument.
 *
 * @param argument The argument, with the text typed so far.
 * @param context The other arguments that have a value.
 */
public record CompletionRequest(CompleteArgument argument, @Nullable CompleteContext context) {
  /** Returns the text typed so far. */
  public String value() {
    return argument.value();
  }

  /** Returns the other arguments that have a value. */
  public Map<String, String> arguments() {
    return context == null || context.arguments() == null ? Map.of() : context.arguments();
  }
}

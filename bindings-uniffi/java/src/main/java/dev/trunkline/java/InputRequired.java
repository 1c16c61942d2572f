package dev.trunkline.java;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Returned by a handler that needs input from its client without waiting for it. When the responses
 * are there, the handler is called again, with {@link Context#inputResponses} and {@link
 * Context#state}.
 *
 * @param requests Requests by the keys of their responses, from {@link InputRequests}.
 * @param state Any JSON value, which the next run gets back.
 */
public record InputRequired(
    @JsonName("inputRequests") Map<String, InputRequest> requests, @Nullable Object state) {
  /** Requests without a state. */
  public InputRequired(Map<String, InputRequest> requests) {
    this(requests, null);
  }
}

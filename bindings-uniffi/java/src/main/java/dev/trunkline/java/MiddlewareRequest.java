package dev.trunkline.java;

import java.util.Map;
import java.util.function.Consumer;

/** A request on its way to a handler. */
public final class MiddlewareRequest {
  private final String method;
  private final Map<String, Object> params;
  private final Context context;

  MiddlewareRequest(String method, Map<String, Object> params, Context context) {
    this.method = method;
    this.params = params;
    this.context = context;
  }

  /** Returns the protocol method, such as {@code tools/call}. */
  public String method() {
    return method;
  }

  /** Returns the parameters; empty if there are none. */
  public Map<String, Object> params() {
    return params;
  }

  /** Runs the rest of the request. */
  public Map<String, Object> next() {
    return context.proceed(null, null);
  }

  /** Runs the rest of the request with other parameters. */
  public Map<String, Object> next(Map<String, Object> params) {
    return context.proceed(params, null);
  }

  /** Runs the rest of the request, and its handlers within a task of {@code around}. */
  Map<String, Object> next(Consumer<Runnable> around) {
    return context.proceed(null, around);
  }
}

package dev.trunkline.java;

import java.util.Map;

/** Wraps requests on their way to handlers. */
@FunctionalInterface
public interface Middleware {
  /** Returns the result, usually that of {@link MiddlewareRequest#next()}. */
  Map<String, Object> handle(Context context, MiddlewareRequest request) throws Exception;
}

package dev.trunkline.java;

import dev.trunkline.java.model.Progress;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of a request that are not limits.
 *
 * @param <O> The class of the options.
 */
public abstract class RequestSettings<O> extends Options<O> {
  @Nullable Consumer<Map<String, @Nullable Object>> progress;

  RequestSettings() {}

  /**
   * Identifies the response to a request to the client when the handler runs again. By default,
   * requests are numbered by kind.
   */
  public O key(String key) {
    return set("key", key);
  }

  /** The {@code _meta} of the request. */
  public O meta(Map<String, Object> meta) {
    return set("_meta", meta);
  }

  /**
   * Requests progress, and receives it. If reports arrive faster than they are handled, only the
   * latest is delivered.
   */
  public O onProgress(Consumer<Progress> receive) {
    progress = members -> receive.accept(Mapper.read(members, Progress.class));
    return self();
  }
}

package dev.trunkline.java;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a server serves HTTP.
 *
 * @param <O> The class of the options.
 */
public abstract class HttpSettings<O> extends Options<O> {
  @Nullable AuthOptions auth;

  HttpSettings() {}

  /** Requires an access token for each request. */
  public O auth(Consumer<AuthOptions> options) {
    auth = Options.with(new AuthOptions(), options);
    return self();
  }

  /** Requires an access token for each request, with the options of a JSON object. */
  public O auth(java.util.Map<String, Object> options) {
    auth = new AuthOptions();
    auth.values.putAll(options);
    return self();
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.JvmHandler;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a server serves HTTP.
 *
 * @param <O> The class of the options.
 */
public abstract class HttpSettings<O> extends Options<O> {
  @Nullable Map<String, @Nullable Object> auth;
  @Nullable JvmHandler verifier;

  HttpSettings() {}

  /** Requires an access token for each request. */
  public O auth(Consumer<AuthOptions> options) {
    var given = Options.with(new AuthOptions(), options);
    auth = given.values;
    verifier = given.verifier;
    return self();
  }

  /** Requires an access token for each request, with the options of a JSON object. */
  public O auth(Map<String, Object> options) {
    return auth(given -> given.values.putAll(options));
  }
}

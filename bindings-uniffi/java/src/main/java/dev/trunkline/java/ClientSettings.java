package dev.trunkline.java;

import dev.trunkline.jvm.JvmFunction;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a client connects, and its handlers.
 *
 * @param <O> The class of the options.
 */
public abstract class ClientSettings<O> extends ExecutorSettings<O> {
  final EndpointOptions endpoint = new EndpointOptions();
  final ChildOptions process = new ChildOptions();
  @Nullable OAuthOptions auth;

  /** By the core's name of the operation. */
  final Map<String, JvmFunction> requests = new LinkedHashMap<>();

  /** By method. */
  final Map<String, Consumer<Map<String, Object>>> notifications = new LinkedHashMap<>();

  ClientSettings() {}

  /** Options of the connection to a URL. */
  public O endpoint(Consumer<EndpointOptions> options) {
    options.accept(endpoint);
    return self();
  }

  /** Options of the program that the client starts. */
  public O process(Consumer<ChildOptions> options) {
    options.accept(process);
    return self();
  }

  /** Authorizes requests to a URL. */
  public O auth(Consumer<OAuthOptions> options) {
    auth = Options.with(new OAuthOptions(), options);
    return self();
  }

  /** The options of the transport, whichever it is. */
  final Map<String, Object> ofTransport() {
    var all = new LinkedHashMap<>(endpoint.values);
    all.putAll(process.values);
    return all;
  }

  final <P, R> O answer(String name, Class<P> params, ClientHandler<P, R> handler) {
    Failures.given("the handler", handler);
    requests.put(
        name,
        Handling.function(
            members ->
                Mapper.objectOf(Mapper.write(handler.handle(Mapper.read(members, params))))));
    return self();
  }

  final O hear(String method, Object handler, Consumer<Map<String, Object>> call) {
    Failures.given("the handler", handler);
    notifications.put(method, call);
    return self();
  }
}

package dev.trunkline.java;

import dev.trunkline.java.model.Notification;
import dev.trunkline.java.model.Root;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.jvm.JvmClient;
import dev.trunkline.jvm.JvmFunction;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The base of {@link Client} and {@link ClientGroup}. If a thread is interrupted while it waits for
 * a response, the request is cancelled, the method throws a {@link RequestCancelledException}, and
 * the thread stays interrupted.
 */
public abstract class ConnectedClient extends ClientOperations implements AutoCloseable {
  final JvmClient jvm;

  ConnectedClient(JvmClient jvm) {
    this.jvm = jvm;
  }

  static <T extends ConnectedClient> CompletableFuture<T> open(
      Map<String, Object> transport,
      ClientOptions options,
      Map<String, JvmFunction> functions,
      @Nullable Server server,
      Function<JvmClient, T> make) {
    return JvmClient.open(
        Failures.JVM,
        options.executor,
        transport,
        options.auth == null ? null : options.auth.values,
        options.values,
        options.requests,
        options.notifications,
        functions,
        server == null ? null : server.jvm,
        make);
  }

  /**
   * Returns whether the client is connected: false once it was closed or has lost a server that it
   * cannot reach again.
   */
  public final boolean isConnected() {
    return jvm.isOpen();
  }

  /** Sends a notification. */
  public final void notify(String method, Map<String, Object> params) {
    jvm.notify(method, Mapper.objectOf(Mapper.write(params)));
  }

  /**
   * Receives all notifications from the server, until the returned object is closed. If they are
   * handled too slowly, the newest are dropped.
   */
  public final AutoCloseable onNotification(Consumer<Notification> receive) {
    Failures.given("the handler", receive);
    return jvm.notifications((method, params) -> receive.accept(new Notification(method, params)));
  }

  /**
   * Changes the roots.
   *
   * @deprecated Since 2026-07-28: use tool arguments, resource URIs or configuration instead.
   */
  @Deprecated
  public final void setRoots(List<Root> roots) {
    jvm.tell(Json.object("roots", roots));
  }

  /**
   * Calls a tool with the components of a record or the members of a map, and returns its
   * structured content as a record, or its text as a {@code String}.
   *
   * @throws ToolException if the tool itself fails
   * @throws TransportException if the content doesn't fit the class
   */
  public final <R> R callTool(String name, @Nullable Object arguments, Class<R> result) {
    return callTool(name, arguments, (Type) result);
  }

  /** Calls a tool as {@link #callTool(String, Object, Class)} does, for a type with arguments. */
  public final <R> R callTool(String name, @Nullable Object arguments, TypeOf<R> result) {
    return callTool(name, arguments, result.type());
  }

  /** Subscribes to changes of resources, lists and tasks. Works on every revision. */
  public final Subscription subscribe(SubscriptionFilter filter) {
    return new Subscription(
        Futures.wait(jvm.stream("subscribe", Mapper.objectOf(Mapper.write(filter)))));
  }

  /**
   * Calls a tool as a task, on any revision that supports tasks. If the server doesn't create a
   * task, the returned object has no id, and its result is available at once.
   */
  public final ClientTask startTask(String name, @Nullable Map<String, ?> arguments) {
    return startTask(name, arguments, null);
  }

  /** Calls a tool as a task, and asks the server to keep it for this time. */
  public final ClientTask startTask(
      String name, @Nullable Map<String, ?> arguments, @Nullable Duration ttl) {
    var params = Json.object("name", name, "arguments", arguments, "ttlMs", ttl);
    return new ClientTask(Futures.wait(jvm.stream("startTask", params)));
  }

  /** Resumes a task by its id, for example one that an earlier run of the program started. */
  public final ClientTask resumeTask(String taskId) {
    return new ClientTask(Futures.wait(jvm.stream("startTask", Map.of("taskId", taskId))));
  }

  /** Waits until the connection has ended, and returns the error that ended it, if any. */
  public final @Nullable RuntimeException join() {
    return Futures.wait(jvm.join());
  }

  /** Closes the connection; requests in flight fail. */
  @Override
  public final void close() {
    jvm.close(null);
  }

  /**
   * Closes the connection; requests in flight fail. A server that the client started gets until the
   * deadline to exit.
   */
  public final void close(Duration deadline) {
    jvm.close(Mapper.milliseconds(deadline));
  }

  @Override
  final Requester requester() {
    return (method, params, options) ->
        jvm.request(method, params, options.values, options.progress);
  }

  @Override
  final ConnectionDescription described() {
    return Mapper.read(jvm.describe(), ConnectionDescription.class);
  }

  /** Reads the structured content of a result. */
  static <R> R structured(Type type, Supplier<R> read) {
    var problem = "the structured content is not that of " + type.getTypeName();
    return Futures.received(problem, read);
  }

  private <R> R callTool(String name, @Nullable Object arguments, Type type) {
    var members = arguments == null ? null : Mapper.objectOf(Mapper.write(arguments));
    var result = callTool(name, members);
    var text = result.text();
    if (result.isError()) {
      throw new ToolException(text);
    }
    var content = result.structuredContent();
    var value =
        Schema.isWrapped(type) && content instanceof Map<?, ?> map && map.containsKey("result")
            ? map.get("result")
            : content;
    if (type == String.class && !(value instanceof String)) {
      return Mapper.read(text, type);
    }
    return structured(
        type,
        () -> {
          if (content == null) {
            throw new IllegalArgumentException("it is missing");
          }
          return Mapper.read(value, type);
        });
  }
}

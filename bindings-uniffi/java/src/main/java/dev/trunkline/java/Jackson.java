package dev.trunkline.java;

import java.lang.reflect.Type;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Tools whose arguments and results are classes of Jackson, which the program adds: {@link
 * Jackson3} or {@link Jackson2}. Its annotations, modules and naming strategy apply to the JSON and
 * to its schema.
 *
 * <pre>{@code
 * var jackson = new Jackson3(new JsonMapper());
 * jackson.tool(server, "forecast", "Tells tomorrow's weather", Place.class, Weather.class, (context, place) -> weatherOf(place));
 * }</pre>
 */
public abstract class Jackson {
  Jackson() {}

  /** Returns the JSON Schema of a type. */
  public abstract Map<String, Object> schema(Type type);

  /** Returns the schema of arguments with these names. */
  abstract Map<String, Object> schemaOf(List<RecordCodec.Member> parameters);

  /**
   * Converts between a value and its JSON.
   *
   * @throws IllegalArgumentException if it does not fit. The message names its path, if it has one.
   */
  abstract <T extends @Nullable Object> T convert(@Nullable Object value, Type type);

  /**
   * Adds the annotated methods of an object, as {@link Server#add} does: the types of their
   * parameters and results are those of the mapper. A tool whose result is an object in JSON has an
   * output schema.
   *
   * @throws InvalidArgumentException if there are none, or one is not valid
   */
  public List<Registration> add(Server server, Object features) {
    return Annotated.add(server, features, this);
  }

  /** Adds a tool. */
  public <A> ChangeableRegistration<ToolOptions> tool(
      Server server, String name, String description, Class<A> arguments, Handler<A> handler) {
    return tool(server, name, description, arguments, options -> {}, handler);
  }

  /** Adds a tool with structured results: its output schema is that of the class {@code result}. */
  public <A> ChangeableRegistration<ToolOptions> tool(
      Server server,
      String name,
      String description,
      Class<A> arguments,
      Class<?> result,
      Handler<A> handler) {
    var output = schema(result);
    if (!"object".equals(output.get("type"))) {
      throw new InvalidArgumentException(
          result.getName() + " is not an object in JSON: put it into one, as a structured result");
    }
    return tool(
        server, name, description, arguments, options -> options.outputSchema(output), handler);
  }

  /** Adds a tool with options. */
  public <A> ChangeableRegistration<ToolOptions> tool(
      Server server,
      String name,
      String description,
      Class<A> arguments,
      Consumer<ToolOptions> options,
      Handler<A> handler) {
    Failures.given("the handler", handler);
    return server.<Map<String, Object>>tool(
        name,
        description,
        () -> schema(arguments),
        Map.class,
        null,
        options,
        (context, body) ->
            written(
                handler.handle(context, Handling.read(() -> this.<A>convert(body, arguments)))));
  }

  /** Adds a tool with parameters. */
  ChangeableRegistration<ToolOptions> tool(
      Server server,
      String name,
      String description,
      List<RecordCodec.Member> parameters,
      Type result,
      Consumer<ToolOptions> options,
      Handler<Map<String, Object>> handler) {
    var plain = Mapper.classOf(result);
    var isOther =
        Returns.isForm(plain)
            || Collection.class.isAssignableFrom(plain)
            || CompletionStage.class.isAssignableFrom(plain);
    var output =
        isOther || plain == void.class
            ? Map.<String, Object>of()
            : Failures.naming("tool " + name, () -> schema(result));
    return server.<Map<String, Object>>tool(
        name,
        description,
        () -> schemaOf(parameters),
        Map.class,
        null,
        "object".equals(output.get("type"))
            ? options.andThen(given -> given.outputSchema(output))
            : options,
        handler);
  }

  /** Calls a tool, and returns its structured content. */
  public <T> T callTool(
      ConnectedClient client, String name, @Nullable Object arguments, Class<T> result) {
    var given = arguments == null ? null : this.<Map<String, Object>>convert(arguments, Map.class);
    var content = client.callTool(name, given, Map.class);
    return ConnectedClient.structured(result, () -> this.<T>convert(content, result));
  }

  /** Reads an argument. */
  @Nullable Object read(RecordCodec.Member parameter, Map<String, Object> arguments) {
    try {
      return convert(parameter.given(arguments), parameter.type());
    } catch (IllegalArgumentException reason) {
      var message = reason.getMessage();
      throw new IllegalArgumentException(
          "/" + parameter.name() + (message.startsWith("/") ? "" : ": ") + message, reason);
    }
  }

  /** Says what is wrong and where. Jackson's own messages name classes. */
  static String messageOf(Stream<Object> path, boolean isUnknown, @Nullable Throwable cause) {
    var steps = path.map(step -> "/" + step).collect(Collectors.joining());
    var problem =
        isUnknown
            ? "it is not allowed"
            : cause instanceof RuntimeException ? Failures.messageOf(cause) : "it is not valid";
    return steps.isEmpty() ? problem : steps + ": " + problem;
  }

  /** The JSON of a value, unless it is one of this library. */
  @Nullable Object written(@Nullable Object returned) throws Exception {
    var value = Futures.settled(returned);
    var isOwn =
        value == null
            || value instanceof String
            || value instanceof byte[]
            || value instanceof List<?> list && list.stream().anyMatch(Returns::isPart)
            || Returns.isForm(value.getClass());
    return isOwn ? value : convert(value, Object.class);
  }
}

package dev.trunkline.java;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import java.lang.reflect.Type;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tools whose arguments and results are classes of Jackson 2, which the program adds: its
 * annotations, modules and naming strategy apply to the JSON and to its schema.
 *
 * <pre>{@code
 * var jackson = new Jackson(new ObjectMapper());
 * jackson.tool(server, "forecast", "Tells tomorrow's weather", Place.class, Weather.class, (context, place) -> weatherOf(place));
 * }</pre>
 */
public final class Jackson {
  private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() {};

  private final ObjectMapper mapper;

  /** Reads and writes with a mapper. */
  public Jackson(ObjectMapper mapper) {
    this.mapper = mapper;
  }

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
            written(handler.handle(context, Handling.read(() -> read(body, arguments)))));
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
        () -> new JacksonSchema(mapper).of(parameters),
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
    var given = arguments == null ? null : mapper.convertValue(arguments, OBJECT);
    var content = client.callTool(name, given, Map.class);
    return ConnectedClient.structured(result, () -> mapper.convertValue(content, result));
  }

  /** Returns the JSON Schema of a type. */
  public Map<String, Object> schema(Type type) {
    return new JacksonSchema(mapper).of(mapper.constructType(type));
  }

  /** Reads an argument. */
  @Nullable Object read(RecordCodec.Member parameter, Map<String, Object> arguments) {
    try {
      return read(arguments.get(parameter.name()), parameter.type());
    } catch (IllegalArgumentException reason) {
      var message = reason.getMessage();
      throw new IllegalArgumentException(
          "/" + parameter.name() + (message.startsWith("/") ? "" : ": ") + message, reason);
    }
  }

  private <A> A read(@Nullable Object json, Type type) {
    try {
      return mapper.convertValue(json, mapper.constructType(type));
    } catch (IllegalArgumentException reason) {
      throw reason.getCause() instanceof JsonMappingException cause
          ? new IllegalArgumentException(messageOf(cause), reason)
          : reason;
    }
  }

  /** Says what is wrong and where. Jackson's own messages name classes. */
  private static String messageOf(JsonMappingException thrown) {
    var path = new StringBuilder();
    for (var step : thrown.getPath()) {
      path.append('/').append(step.getFieldName() == null ? step.getIndex() : step.getFieldName());
    }
    var problem =
        thrown instanceof UnrecognizedPropertyException
            ? "it is not allowed"
            : thrown.getCause() instanceof RuntimeException cause
                ? cause.getMessage()
                : "it is not valid";
    return path.isEmpty() ? problem : path + ": " + problem;
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
    return isOwn ? value : mapper.convertValue(value, Object.class);
  }
}

package dev.trunkline.java;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
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

  private <A> A read(Map<String, Object> body, Class<A> arguments) {
    try {
      return mapper.convertValue(body, arguments);
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
  private @Nullable Object written(@Nullable Object returned) throws Exception {
    var value = Futures.settled(returned);
    var isOwn =
        value == null
            || value instanceof String
            || value instanceof List<?> list && list.stream().anyMatch(Returns::isPart)
            || Returns.isForm(value.getClass());
    return isOwn ? value : mapper.convertValue(value, Object.class);
  }
}

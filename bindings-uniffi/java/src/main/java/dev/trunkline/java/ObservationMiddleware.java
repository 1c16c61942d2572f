package dev.trunkline.java;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Observes the requests of a server with Micrometer, which the program adds: as timers and, if it
 * has tracing, as spans around the handlers.
 *
 * <pre>{@code
 * server.middleware(new ObservationMiddleware(observationRegistry));
 * }</pre>
 *
 * <p>Observations have the name and keys of the semantic conventions of OpenTelemetry: {@code
 * mcp.server.operation.duration} with {@code mcp.method.name}, {@code gen_ai.tool.name}, {@code
 * gen_ai.prompt.name} and {@code error.type}, which is {@code tool_error} for a result with {@code
 * isError}, otherwise the code of the error. A key without a value is {@code none}.
 */
public final class ObservationMiddleware implements Middleware {
  private static final String NAME = "mcp.server.operation.duration";

  /** The value of a key without one: a name has the same keys everywhere. */
  private static final String NONE = KeyValue.NONE_VALUE;

  private final ObservationRegistry registry;

  /**
   * The tools and prompts that exist: a client may call any others, which are no values of keys.
   */
  private final Set<String> known = ConcurrentHashMap.newKeySet();

  /** Middleware that observes with a registry. */
  public ObservationMiddleware(ObservationRegistry registry) {
    this.registry = Failures.given("the registry", registry);
  }

  @Override
  public Map<String, Object> handle(Context context, MiddlewareRequest request) {
    var method = request.method();
    var name = request.params().get("name") instanceof String given ? given : "";
    var observation =
        Observation.start(NAME, registry)
            .contextualName(method)
            .lowCardinalityKeyValue("mcp.method.name", method);
    var error = NONE;
    try {
      var result = observation.scoped(() -> request.next(observation::scoped));
      known.add(method + " " + name);
      if (Boolean.TRUE.equals(result.get("isError"))) {
        error = "tool_error";
      }
      return result;
    } catch (RuntimeException failed) {
      error = typeOf(failed);
      observation.error(failed);
      throw failed;
    } finally {
      var isKnown = known.contains(method + " " + name);
      if (isKnown && !name.isEmpty()) {
        observation.contextualName(method + " " + name);
      }
      observation
          .lowCardinalityKeyValue(
              "gen_ai.tool.name", isKnown && method.equals("tools/call") ? name : NONE)
          .lowCardinalityKeyValue(
              "gen_ai.prompt.name", isKnown && method.equals("prompts/get") ? name : NONE)
          .lowCardinalityKeyValue("error.type", error)
          .stop();
    }
  }

  /** Returns the code of an error, or else its kind. */
  private static String typeOf(RuntimeException failed) {
    if (failed instanceof ProtocolException error) {
      return String.valueOf(error.code());
    }
    return failed instanceof TrunklineException error
        ? String.valueOf(Mapper.write(error.kind()))
        : failed.getClass().getName();
  }
}

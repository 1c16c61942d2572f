// A vendor-specific method, and a client that calls it.
import dev.trunkline.java.Client;
import dev.trunkline.java.Json;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.util.List;
import java.util.Map;

class OwnMethods {
  static final Map<String, Object> PARAMS =
      Json.parseObject(
          """
          {
            "type": "object",
            "properties": {"terms": {"type": "array", "items": {"type": "integer"}}},
            "required": ["terms"]
          }
          """);

  record Sum(List<Long> terms) {}

  public static void main(String[] arguments) {
    try (var server = new Server("sums", "1.0.0")) {
      server.requestHandler(
          "com.acme/sum",
          options -> options.paramsSchema(PARAMS),
          (context, params) -> {
            context.progress(1, 1.0, null);
            var terms = Json.read(params, Sum.class).terms();
            return Map.of("sum", terms.stream().mapToLong(Long::longValue).sum());
          });

      try (var client = Client.connect(Target.server(server))) {
        var reply = client.request("com.acme/sum", Map.of("terms", List.of(1, 2, 39)));
        System.out.println(((Map<?, ?>) reply).get("sum"));
      }
    }
  }
}

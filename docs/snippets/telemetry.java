// The spans of a call. With OpenTelemetry on the class path, there is nothing to do; here a
// processor notes the names of the spans.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.Locale;
import java.util.Map;

class Telemetry {
  record Guest(String name) {}

  public static void main(String[] arguments) throws InterruptedException {
    var spans = InMemorySpanExporter.create();
    var provider =
        SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build();
    GlobalOpenTelemetry.set(OpenTelemetrySdk.builder().setTracerProvider(provider).build());

    try (var server = new Server("greeter", "1.0.0")) {
      server.tool(
          "greet",
          "Greet someone.",
          Guest.class,
          (context, guest) -> "Hello, " + guest.name() + "!");
      try (var client = Client.connect(Target.server(server))) {
        client.callTool("greet", Map.of("name", "Ada"));
      }
    }
    while (spans.getFinishedSpanItems().size() < 4) {
      Thread.sleep(10);
    }
    spans.getFinishedSpanItems().stream()
        .map(span -> span.getKind().name().toLowerCase(Locale.ROOT) + " " + span.getName())
        .sorted()
        .forEach(System.out::println);
  }
}

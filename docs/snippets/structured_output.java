// A tool that returns an object with a schema.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.util.Map;

class StructuredOutput {
  record Place(String city) {}

  record Weather(String sky, double degrees) {}

  public static void main(String[] arguments) {
    try (var server = new Server("weather", "1.0.0")) {
      server.tool(
          "weather",
          "The weather of a city.",
          Place.class,
          Weather.class,
          (context, place) -> new Weather("snow over " + place.city(), -3.5));

      try (var client = Client.connect(Target.server(server))) {
        System.out.println(client.callTool("weather", Map.of("city", "Oslo")).text());
        var today = client.callTool("weather", new Place("Oslo"), Weather.class);
        System.out.println(today.sky() + ", " + today.degrees() + " degrees");
      }
    }
  }
}

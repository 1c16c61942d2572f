// A tool with typed arguments, and a client in the same process.
import dev.trunkline.java.Client;
import dev.trunkline.java.Description;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;

class Tools {
  record Request(
      @Description("The name of the city.") String city,
      @Description("The number of days, 1 to 7.") Optional<Integer> days) {
    Request {
      if (days.isPresent() && (days.get() < 1 || days.get() > 7)) {
        throw new IllegalArgumentException("days must be 1 to 7");
      }
    }
  }

  static String forecast(Request request) {
    var days = Collections.nCopies(request.days().orElse(2), "snow");
    return request.city() + ": " + String.join(", ", days);
  }

  public static void main(String[] arguments) {
    try (var server = new Server("weather", "1.0.0")) {
      server.tool(
          "forecast",
          "Forecast the weather of a city.",
          Request.class,
          (context, request) -> forecast(request));

      try (var client = Client.connect(Target.server(server))) {
        for (var tool : client.listTools()) {
          System.out.println(tool.name() + ": " + tool.description());
        }
        System.out.println(client.callTool("forecast", Map.of("city", "Oslo")).text());
        var result = client.callTool("forecast", Map.of("city", "Oslo", "days", 20));
        System.out.println(result.isError() ? "refused" : result.text());
      }
    }
  }
}

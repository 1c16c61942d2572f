// Tools, a resource and a prompt as methods. In Spring Boot, the class would be a bean.
import dev.trunkline.java.Client;
import dev.trunkline.java.Context;
import dev.trunkline.java.Description;
import dev.trunkline.java.McpPrompt;
import dev.trunkline.java.McpResource;
import dev.trunkline.java.McpTool;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.ToolException;
import java.util.Map;
import java.util.Optional;

class AnnotatedTools {
  record Forecast(String city, double celsius) {}

  static class Weather {
    @McpTool(description = "Forecast the weather of a city.", readOnlyHint = true)
    public Forecast forecast(
        Context context,
        @Description("Name of the city") String city,
        @Description("Days from today; tomorrow by default") Optional<Integer> days) {
      if (days.orElse(1) > 7) {
        throw new ToolException("Forecasts end after 7 days.");
      }
      context.progress(1, 1.0, "asked the satellite");
      return new Forecast(city, 21.5);
    }

    @McpResource(uri = "weather://{city}", mimeType = "text/plain")
    public String current(String city) {
      return "Sun in " + city;
    }

    @McpPrompt(description = "Plan a trip.")
    public String trip(String city) {
      return "What should I pack for " + city + "?";
    }
  }

  public static void main(String[] arguments) {
    try (var server = new Server("weather", "1.0.0")) {
      server.add(new Weather());

      try (var client = Client.connect(Target.server(server))) {
        var oslo = client.callTool("forecast", Map.of("city", "Oslo"), Forecast.class);
        System.out.println(oslo.city() + ": " + oslo.celsius());
        var late = client.callTool("forecast", Map.of("city", "Oslo", "days", 30));
        System.out.println(late.isError() + ": " + late.text());
      }
    }
  }
}

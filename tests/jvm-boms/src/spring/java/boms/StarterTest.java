package boms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.Client;
import dev.trunkline.java.McpTool;
import dev.trunkline.java.model.SubscriptionFilter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** An application of Spring Boot with the starter, Actuator and a web server of few threads. */
@Timeout(120)
class StarterTest {
  @SpringBootApplication
  static class Application {
    static class Weather {
      @McpTool(description = "Tells tomorrow's weather")
      public String forecast(String city) {
        return "Rain in " + city;
      }
    }

    @Bean
    Weather weather() {
      return new Weather();
    }
  }

  @Test
  void beansAreServedAndObserved() throws Exception {
    var application = new SpringApplication(Application.class);
    application.setDefaultProperties(
        Map.of(
            "server.port", "0",
            "server.tomcat.threads.max", "2",
            "trunkline.name", "weather",
            "management.endpoints.web.exposure.include", "health,metrics"));
    try (var context = application.run()) {
      var port = context.getEnvironment().getProperty("local.server.port");
      var url = "http://127.0.0.1:" + port;
      try (var one = Client.connect(url + "/mcp");
          var two = Client.connect(url + "/mcp");
          var three = Client.connect(url + "/mcp")) {
        for (var client : new Client[] {one, two, three}) {
          client.subscribe(new SubscriptionFilter().withTools(true));
          assertEquals("weather", client.serverInfo().name());
          assertEquals("Rain in Oslo", client.callTool("forecast", Map.of("city", "Oslo")).text());
        }
        assertTrue(get(url + "/actuator/health").contains("UP"));
        var metrics = get(url + "/actuator/metrics/mcp.server.operation.duration");
        assertTrue(metrics.contains("\"forecast\""), metrics);
        assertTrue(get(url + "/actuator/metrics/http.server.requests").contains("\"/mcp\""));
      }
    }
  }

  private static String get(String url) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(20)).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
  }
}

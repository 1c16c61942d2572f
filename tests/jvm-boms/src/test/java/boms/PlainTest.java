package boms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.model.ElicitAction;
import dev.trunkline.java.model.ElicitResult;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.SubscriptionFilter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server and its client, without the framework. */
@Timeout(60)
class PlainTest {
  record Place(String city) {}

  record Forecast(String city, List<Double> degrees) {}

  @Test
  void aServerAndItsClientWork() throws Exception {
    try (var server = new Server("weather", "1.0")) {
      server.tool(
          "forecast",
          "",
          Place.class,
          Forecast.class,
          (context, place) -> {
            context.progress(1);
            var other = context.elicit("Another city?", Place.class).content();
            return new Forecast(other == null ? place.city() : other.city(), List.of(1.5));
          });
      server.tool("fails", "", (context, given) -> Files.readString(Path.of("missing")));
      try (var listener = server.listen(options -> options.port(0))) {
        for (var revision : List.of(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
          try (var client =
              Client.connect(
                  listener.url(),
                  options ->
                      options
                          .revision(revision)
                          .onElicit(
                              request ->
                                  new ElicitResult(ElicitAction.ACCEPT)
                                      .withContent(Map.of("city", "Oslo"))))) {
            try (var changes = client.subscribe(new SubscriptionFilter().withTools(true))) {
              var forecast = client.callTool("forecast", new Place("Rome"), Forecast.class);
              assertEquals(new Forecast("Oslo", List.of(1.5)), forecast);
            }
            assertTrue(client.callToolAsync("fails").get(10, TimeUnit.SECONDS).isError());
          }
        }
      }
    }
  }
}

package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.TextContent;
import dev.trunkline.java.model.TextResourceContents;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DefaultsTest {
  enum Unit {
    METRIC,
    @JsonName("imperial")
    IMPERIAL
  }

  record Place(
      String city,
      @Default("3") int days,
      @Default("imperial") Unit unit,
      @Default("2026-01-31") LocalDate from,
      @Default("[1.5]") List<Double> limits) {}

  static final class Methods {
    @McpTool(description = "")
    public String method(String city, @Default("true") boolean detailed) {
      return city + " " + detailed;
    }

    @McpResource(uri = "places://{name}")
    public String place(String name, @Default("low") String detail) {
      return name + " " + detail;
    }

    @McpPrompt(description = "")
    public String ask(@Default("Oslo") String city) {
      return city;
    }
  }

  @Test
  void missingValuesHaveTheirDefault() {
    var expected =
        """
        {"city": {"type": "string"},
         "days": {
           "type": "integer", "minimum": -2147483648, "maximum": 2147483647, "default": 3},
         "unit": {"type": "string", "enum": ["METRIC", "imperial"], "default": "imperial"},
         "from": {"type": "string", "format": "date", "default": "2026-01-31"},
         "limits": {"type": "array", "items": {"type": "number"}, "default": [1.5]}}
        """;
    try (var server = new Server("places", "1")) {
      server.tool("record", "", Place.class, (context, place) -> place);
      server.add(new Methods());
      try (var client = Client.connect(Target.server(server))) {
        var schema = client.listTools().get(0).inputSchema();
        assertEquals(Json.parse(expected), Json.parse(Json.write(schema.get("properties"))));
        assertEquals(List.of("city"), schema.get("required"));

        var oslo = Map.<String, Object>of("city", "Oslo");
        var text = client.callTool("record", oslo).text();
        var place = new Place("Oslo", 3, Unit.IMPERIAL, LocalDate.of(2026, 1, 31), List.of(1.5));
        assertEquals(place, Json.read(Json.parse(text), Place.class));
        assertEquals("Oslo true", client.callTool("method", oslo).text());
        var given = Map.<String, Object>of("city", "Oslo", "detailed", false);
        assertEquals("Oslo false", client.callTool("method", given).text());

        var contents = client.readResource("places://Oslo").contents().get(0);
        assertEquals("Oslo low", ((TextResourceContents) contents).text());
        assertEquals(false, client.listPrompts().get(0).arguments().get(0).required());
        var message = client.getPrompt("ask").messages().get(0);
        assertEquals("Oslo", ((TextContent) message.content()).text());
      }
    }
  }

  record Fraction(@Default("1.5") int days) {}

  record Word(@Default("few") int days) {}

  record Other(@Default("metric") Unit unit) {}

  record Nothing(@Default("null") Integer days) {}

  @Test
  void defaultsThatDoNotFitAreRefused() {
    try (var server = new Server("places", "1")) {
      for (var type : List.of(Fraction.class, Word.class, Other.class, Nothing.class)) {
        var error =
            assertThrows(
                InvalidArgumentException.class,
                () -> server.tool("wrong", "", type, (context, given) -> ""));
        var member = type == Other.class ? "unit" : "days";
        var start = "tool wrong: $." + member + ": the default ";
        assertTrue(error.getMessage().startsWith(start), error.getMessage());
      }
    }
  }
}

package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

class Jackson3Test extends JacksonTest {
  @Override
  Jackson snakeCase() {
    return new Jackson3(
        JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build());
  }

  @Override
  Jackson nonEmpty() {
    return new Jackson3(
        JsonMapper.builder()
            .changeDefaultPropertyInclusion(
                inclusion -> inclusion.withValueInclusion(JsonInclude.Include.NON_EMPTY))
            .build());
  }

  @Override
  String others() {
    return "jackson-(core|databind)-2.*";
  }

  record Stay(
      LocalDate from, Instant booked, @JsonFormat(pattern = "dd.MM.yyyy") LocalDate until) {}

  @Test
  void datesHaveTheirFormat() {
    var expected =
        """
        {"from": {"type": "string", "format": "date"},
         "booked": {"type": "string", "format": "date-time"},
         "until": {"type": "string"}}
        """;
    try (var server = new Server("hotel", "1")) {
      var jackson = new Jackson3(new JsonMapper());
      jackson.tool(
          server, "book", "", Stay.class, (context, stay) -> stay.from() + " " + stay.until());
      try (var client = Client.connect(Target.server(server))) {
        var schema = client.listTools().get(0).inputSchema();
        assertEquals(Json.parse(expected), Json.parse(Json.write(schema.get("properties"))));
        var stay =
            Map.of("from", "2026-01-31", "booked", "2026-01-01T00:00:00Z", "until", "02.02.2026");
        assertEquals("2026-01-31 2026-02-02", client.callTool("book", stay).text());
      }
    }
  }
}

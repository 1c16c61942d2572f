package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import jakarta.validation.constraints.Min;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class JacksonTest {
  enum Unit {
    @JsonProperty("metric")
    METRIC,
    IMPERIAL
  }

  /** A class that only Jackson reads. */
  static final class Place {
    @JsonProperty(required = true)
    @JsonPropertyDescription("Name of the city")
    public String cityName = "";

    public int days = 1;
    public @Nullable Unit unit;
    public List<Place> neighbours = List.of();
  }

  record Weather(String summaryText, double temperature, @Nullable String note) {}

  private final Jackson jackson =
      new Jackson(
          new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE));

  @Test
  void schemasAreThoseOfTheMapper() {
    var expected =
        """
        {"type": "object", "properties": {
          "city_name": {"type": "string", "description": "Name of the city"},
          "days": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647},
          "unit": {"anyOf": [{"type": "string", "enum": ["metric", "IMPERIAL"]}, {"type": "null"}]},
          "neighbours": {"anyOf": [
            {"type": "array", "items": {"$ref": "#/$defs/Place"}}, {"type": "null"}]}},
         "required": ["city_name"]}
        """;
    var schema = jackson.schema(Place.class);
    var definition = ((Map<?, ?>) schema.remove("$defs")).get("Place");
    assertEquals(Json.parse(expected), Json.parse(Json.write(schema)));
    assertEquals(Json.parse(expected), Json.parse(Json.write(definition)));
    assertEquals(
        List.of("summary_text", "temperature"), jackson.schema(Weather.class).get("required"));
  }

  @Test
  void argumentsAndResultsAreThoseOfTheMapper() {
    try (var server = new Server("weather", "1")) {
      jackson.tool(
          server,
          "forecast",
          "Tells the weather",
          Place.class,
          Weather.class,
          (context, place) -> new Weather("Rain in " + place.cityName, place.days, null));
      try (var client = Client.connect(Target.server(server))) {
        var tool = client.listTools().get(0);
        assertTrue(Json.write(tool.inputSchema()).contains("city_name"));
        var place = new Place();
        place.cityName = "Oslo";
        place.days = 3;
        var weather = jackson.callTool(client, "forecast", place, Weather.class);
        assertEquals(new Weather("Rain in Oslo", 3.0, null), weather);
        assertThrows(
            TransportException.class,
            () -> jackson.callTool(client, "forecast", place, Place.class));
      }
    }
  }

  @Test
  void argumentsThatDoNotFitAreRefused() {
    try (var server = new Server("weather", "1")) {
      jackson.tool(server, "optional", "", OnlySmall.class, (context, given) -> "small");
      try (var client = Client.connect(Target.server(server))) {
        assertEquals("small", client.callTool("optional", Map.of("value", 1), String.class));
        var refused = client.callTool("optional", Map.of("value", 11));
        assertTrue(refused.isError());
        assertTrue(refused.text().contains("at most 10"), refused.text());
        var unknown = client.callTool("optional", Map.of("value", 1, "other", 2)).text();
        assertTrue(unknown.contains("/other: it is not allowed"), unknown);
        assertTrue(!unknown.contains("OnlySmall"), unknown);
      }
      assertThrows(
          InvalidArgumentException.class,
          () -> jackson.tool(server, "list", "", Place.class, List.class, (context, given) -> ""));
      var error =
          assertThrows(
              InvalidArgumentException.class,
              () -> jackson.tool(server, "day", "", Day.class, (context, given) -> ""));
      assertTrue(error.getMessage().startsWith("tool day: $.date: "), error.getMessage());
    }
  }

  @Test
  void contentIsNotThatOfTheMapper() {
    try (var server = new Server("weather", "1")) {
      jackson.tool(
          server,
          "show",
          "",
          Map.class,
          (context, given) -> List.of(Content.text("rain"), Content.text("sun")));
      try (var client = Client.connect(Target.server(server))) {
        assertEquals("rain\nsun", client.callTool("show").text());
      }
    }
  }

  static final class Features {
    @McpTool(description = "")
    public Weather forecast(
        Place place, @Min(1) int days, @Description("Its units") @Nullable Unit unit) {
      return new Weather(place.cityName + " " + unit, days, null);
    }

    @McpTool(description = "")
    public List<ContentBlock> show() {
      return List.of(Content.text("rain"), Content.text("sun"));
    }

    @McpTool(description = "")
    public List<Place> places(Context context) {
      return List.of(new Place());
    }

    @McpResource(uri = "places://{name}")
    public Place place(String name) {
      var place = new Place();
      place.cityName = name;
      return place;
    }
  }

  @Test
  void annotatedMethodsHaveTypesOfTheMapper() {
    try (var server = new Server("weather", "1")) {
      assertEquals(4, jackson.add(server, new Features()).size());
      try (var client = Client.connect(Target.server(server))) {
        var tools = client.listTools().stream().collect(Collectors.toMap(Tool::name, tool -> tool));
        var properties = Mapper.objectOf(tools.get("forecast").inputSchema().get("properties"));
        assertEquals(jackson.schema(Place.class).get("properties"), placeIn(properties));
        assertEquals(
            Json.parse("{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 2147483647}"),
            properties.get("days"));
        assertEquals("Its units", Mapper.objectOf(properties.get("unit")).get("description"));
        assertEquals(
            Json.write(jackson.schema(Weather.class)),
            Json.write(tools.get("forecast").outputSchema()));

        var oslo = Map.of("city_name", "Oslo");
        var given = Map.of("place", oslo, "days", 3, "unit", "metric");
        assertEquals(
            new Weather("Oslo METRIC", 3, null),
            jackson.callTool(client, "forecast", given, Weather.class));
        var without = Map.of("place", oslo, "days", 3);
        assertEquals(
            new Weather("Oslo null", 3, null),
            jackson.callTool(client, "forecast", without, Weather.class));
        var unknown = Map.of("place", Map.of("city_name", "Oslo", "x", 1), "days", 3);
        var refused = client.callTool("forecast", unknown);
        assertTrue(refused.text().contains("/place/x: it is not allowed"), refused.text());

        assertEquals("rain\nsun", client.callTool("show").text());
        assertTrue(client.callTool("places").text().contains("city_name"));
        var place = (TextResourceContents) client.readResource("places://Oslo").contents().get(0);
        assertTrue(place.text().contains("\"city_name\":\"Oslo\""), place.text());
      }
      var error =
          assertThrows(
              InvalidArgumentException.class, () -> jackson.add(server, new WithoutModule()));
      assertTrue(error.getMessage().startsWith("tool on: $.day.date: "), error.getMessage());
    }
  }

  static final class WithoutModule {
    @McpTool(description = "")
    public String on(Day day) {
      return "";
    }
  }

  private static @Nullable Object placeIn(Map<String, Object> properties) {
    return Mapper.objectOf(properties.get("place")).get("properties");
  }

  record Reading(
      @JsonSerialize(using = ToStringSerializer.class) long id,
      byte[] picture,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) String note,
      Sky sky) {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
  @JsonSubTypes({
    @JsonSubTypes.Type(value = Clear.class, name = "clear"),
    @JsonSubTypes.Type(value = Mixed.class, name = "mixed")
  })
  interface Sky {}

  record Clear(double light) implements Sky {}

  record Mixed(List<Sky> parts) implements Sky {}

  @Test
  void schemasDescribeWhatTheMapperWrites() {
    var expected =
        """
        {"type": "object", "required": ["id", "picture", "sky"], "properties": {
          "id": {"type": "string"},
          "picture": {"type": "string"},
          "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
          "sky": {"type": "object", "oneOf": VARIANTS}}}
        """;
    var variants =
        """
        [{"type": "object", "required": ["kind", "light"], "properties": {
            "kind": {"const": "clear"}, "light": {"type": "number"}}},
          {"type": "object", "required": ["kind", "parts"], "properties": {
            "kind": {"const": "mixed"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Sky"}}}}]
        """;
    var schema = jackson.schema(Reading.class);
    schema.remove("$defs");
    assertEquals(
        Json.parse(expected.replace("VARIANTS", variants)), Json.parse(Json.write(schema)));
    var mapper = new ObjectMapper().setDefaultPropertyInclusion(JsonInclude.Include.NON_EMPTY);
    assertEquals(null, new Jackson(mapper).schema(Clear.class).get("required"));
  }

  record Anything(Object one, List<Object> list, Map<String, Object> map) {}

  @Test
  void objectsAreAnyValue() {
    var expected =
        """
        {"type": "object", "required": ["one", "list", "map"], "properties": {
          "one": {},
          "list": {"type": "array", "items": {}},
          "map": {"type": "object", "additionalProperties": {}}}}
        """;
    assertEquals(Json.parse(expected), Json.parse(Json.write(jackson.schema(Anything.class))));
  }

  record Day(LocalDate date) {}

  @Test
  void classesOfOneNameHaveDefinitionsOfTheirOwn() {
    var definitions = (Map<?, ?>) jackson.schema(MapperTest.Nodes.class).get("$defs");
    assertEquals(Set.of("Node", "Node2"), definitions.keySet());
  }

  record OnlySmall(int value) {
    OnlySmall {
      if (value > 10) {
        throw new IllegalArgumentException("value must be at most 10");
      }
    }
  }
}

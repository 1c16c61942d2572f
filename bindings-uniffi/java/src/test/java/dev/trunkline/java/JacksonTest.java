package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import dev.trunkline.java.model.ContentBlock;
import dev.trunkline.java.model.TextResourceContents;
import dev.trunkline.java.model.Tool;
import jakarta.validation.constraints.Min;
import java.io.File;
import java.lang.reflect.Type;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The tests for both versions of Jackson. */
abstract class JacksonTest {
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

  private final Jackson jackson = snakeCase();

  /** With names in snake case. Members that a class does not have are refused. */
  abstract Jackson snakeCase();

  /** Without members that are empty. */
  abstract Jackson nonEmpty();

  /** The libraries of the other version. */
  abstract String others();

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
    }
  }

  private static @Nullable Object placeIn(Map<String, Object> properties) {
    return Mapper.objectOf(properties.get("place")).get("properties");
  }

  record Reading(
      @JsonSerialize(using = ToStringSerializer.class)
          @tools.jackson.databind.annotation.JsonSerialize(
              using = tools.jackson.databind.ser.std.ToStringSerializer.class)
          long id,
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
    assertEquals(null, nonEmpty().schema(Clear.class).get("required"));
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

  @Test
  void classesOfOneNameHaveDefinitionsOfTheirOwn() {
    var definitions = (Map<?, ?>) jackson.schema(MapperTest.Nodes.class).get("$defs");
    assertEquals(Set.of("Node", "Node2"), definitions.keySet());
  }

  record Trip(
      @JsonProperty(defaultValue = "3") @Nullable Integer days,
      @JsonProperty(defaultValue = "metric") Unit unit,
      @JsonProperty(defaultValue = "a few") double distance,
      UUID id) {}

  static final class Trips {
    @McpTool(description = "")
    public String plan(Place place, @Default("2") int days, @Default("metric") Unit unit) {
      return place.cityName + " " + days + " " + unit;
    }
  }

  @Test
  void defaultsAndFormatsAreInTheSchema() {
    var expected =
        """
        {"days": {"anyOf": [
            {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}, {"type": "null"}],
          "default": 3},
         "unit": {"type": "string", "enum": ["metric", "IMPERIAL"], "default": "metric"},
         "distance": {"type": "number"},
         "id": {"type": "string", "format": "uuid"}}
        """;
    var properties = jackson.schema(Trip.class).get("properties");
    assertEquals(Json.parse(expected), Json.parse(Json.write(properties)));

    try (var server = new Server("trips", "1")) {
      jackson.add(server, new Trips());
      try (var client = Client.connect(Target.server(server))) {
        var schema = client.listTools().get(0).inputSchema();
        assertEquals(List.of("place"), schema.get("required"));
        var days = Mapper.objectOf(Mapper.objectOf(schema.get("properties")).get("days"));
        assertEquals(2L, days.get("default"));
        var place = Map.of("city_name", "Oslo");
        assertEquals("Oslo 2 METRIC", client.callTool("plan", Map.of("place", place)).text());
        assertEquals(
            "Oslo 5 METRIC", client.callTool("plan", Map.of("place", place, "days", 5)).text());
      }
    }
  }

  @Test
  void theOtherVersionIsNotNeeded() throws Exception {
    var places = new ArrayList<URL>();
    for (var place : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (!Path.of(place).getFileName().toString().matches(others())) {
        places.add(Path.of(place).toUri().toURL());
      }
    }
    var platform = ClassLoader.getPlatformClassLoader();
    try (var loader = new URLClassLoader(places.toArray(URL[]::new), platform)) {
      var name = jackson.getClass().getName();
      var constructor = loader.loadClass(name).getConstructors()[0];
      var mapper = constructor.getParameterTypes()[0].getConstructor().newInstance();
      var made = constructor.newInstance(mapper);
      var schema = made.getClass().getMethod("schema", Type.class).invoke(made, int[].class);
      assertEquals("array", ((Map<?, ?>) schema).get("type"));
    }
  }

  record OnlySmall(int value) {
    OnlySmall {
      if (value > 10) {
        throw new IllegalArgumentException("value must be at most 10");
      }
    }
  }
}

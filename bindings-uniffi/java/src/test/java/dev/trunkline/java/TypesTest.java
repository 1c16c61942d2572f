package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.TextContent;
import dev.trunkline.java.model.TextResourceContents;
import java.net.URI;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Types of the JDK and generic records, as arguments and results. */
@Timeout(60)
class TypesTest {
  record Box<T>(T value) {}

  record Node<T>(T value, List<Node<T>> children) {}

  record Values(
      char letter,
      LocalDate date,
      LocalTime time,
      LocalDateTime local,
      OffsetDateTime offset,
      ZonedDateTime zoned,
      Instant instant,
      UUID id,
      URI uri,
      OptionalInt count,
      OptionalLong total,
      OptionalDouble ratio,
      Box<List<LocalDate>> box,
      Box<OptionalInt>[] boxes,
      Node<Character> tree,
      Map<LocalDate, UUID> ids) {}

  /**
   * A component, its schema, a value of it, and a string or value that it refuses with an error.
   */
  private record Row(String name, String schema, String value, String wrong, String error) {}

  private static final List<Row> ROWS =
      List.of(
          new Row(
              "letter",
              "{'type': 'string', 'minLength': 1, 'maxLength': 1}",
              "'ø'",
              "'😀'",
              "letter: it must be a string such as a, and is 😀"),
          new Row(
              "date",
              "{'type': 'string', 'format': 'date'}",
              "'2026-01-31'",
              "'2026-02-30'",
              "date: it must be a string such as 2026-01-31, and is 2026-02-30"),
          new Row(
              "time",
              "{'type': 'string', 'description': 'a time without an offset, such as 09:30:00'}",
              "'09:30:05.250'",
              "'9:30'",
              "time: it must be a string such as 09:30:00, and is 9:30"),
          new Row(
              "local",
              "{'type': 'string', 'description':"
                  + " 'a date and time without an offset, such as 2026-01-31T09:30:00'}",
              "'2026-01-31T09:30:05'",
              "'2026-01-31T09:30:05Z'",
              "local: it must be a string such as 2026-01-31T09:30:00, and is"),
          new Row(
              "offset",
              "{'type': 'string', 'format': 'date-time'}",
              "'2026-01-31T09:30:00+01:00'",
              "'2026-01-31T09:30:00'",
              "offset: it must be a string such as 2026-01-31T09:30:00+01:00, and is"),
          new Row(
              "zoned",
              "{'type': 'string', 'description':"
                  + " 'a date and time with a zone, such as 2026-01-31T09:30:00+01:00[Europe/Oslo]'}",
              "'2026-01-31T09:30:05+01:00[Europe/Oslo]'",
              "'2026-01-31T09:30:05[Oslo]'",
              "zoned: it must be a string such as 2026-01-31T09:30:00+01:00[Europe/Oslo], and is"),
          new Row(
              "instant",
              "{'type': 'string', 'format': 'date-time'}",
              "'2026-01-31T09:30:00Z'",
              "'yesterday'",
              "instant: it must be a string such as 2026-01-31T09:30:00Z, and is yesterday"),
          new Row(
              "id",
              "{'type': 'string', 'format': 'uuid'}",
              "'123e4567-e89b-12d3-a456-426614174000'",
              "'1-1-1-1-1'",
              "id: it must be a string such as 123e4567-e89b-12d3-a456-426614174000, and is 1-1"),
          new Row(
              "uri",
              "{'type': 'string', 'format': 'uri'}",
              "'https://example.com/a?b=c'",
              "'a b'",
              "uri: it must be a string such as https://example.com/a, and is a b"),
          new Row(
              "count",
              "{'anyOf': [{'type': 'integer', 'minimum': -2147483648, 'maximum': 2147483647},"
                  + " {'type': 'null'}]}",
              "5",
              "2147483648",
              "/count"),
          new Row(
              "total",
              "{'anyOf': [{'type': 'integer'}, {'type': 'null'}]}",
              "2147483648",
              "0.5",
              "/total"),
          new Row(
              "ratio",
              "{'anyOf': [{'type': 'number'}, {'type': 'null'}]}",
              "0.5",
              "'half'",
              "/ratio"),
          new Row(
              "box",
              "{'type': 'object', 'properties': {'value': {'type': 'array', 'items':"
                  + " {'type': 'string', 'format': 'date'}}}, 'required': ['value'],"
                  + " 'additionalProperties': false}",
              "{'value': ['2026-01-31']}",
              "{'value': ['January']}",
              "box.value[0]: it must be a string such as 2026-01-31, and is January"),
          new Row(
              "boxes",
              "{'type': 'array', 'items': {'type': 'object', 'properties': {'value': {'anyOf':"
                  + " [{'type': 'integer', 'minimum': -2147483648, 'maximum': 2147483647},"
                  + " {'type': 'null'}]}}, 'additionalProperties': false}}",
              "[{'value': 1}, {}]",
              "[{'value': 'one'}]",
              "/boxes/0/value"),
          new Row(
              "tree",
              "{'$ref': '#/$defs/Node'}",
              "{'value': 'a', 'children': [{'value': 'b', 'children': []}]}",
              "{'value': 'a', 'children': [{'value': '😀', 'children': []}]}",
              "tree.children[0].value: it must be a string such as a, and is 😀"),
          new Row(
              "ids",
              "{'type': 'object', 'additionalProperties': {'type': 'string', 'format': 'uuid'}}",
              "{'2026-01-31': '123e4567-e89b-12d3-a456-426614174000'}",
              "{'January': '123e4567-e89b-12d3-a456-426614174000'}",
              "it must be a string such as 2026-01-31, and is January"));

  static class Features {
    @McpTool(description = "")
    public Values parameters(
        char letter,
        LocalDate date,
        LocalTime time,
        LocalDateTime local,
        OffsetDateTime offset,
        ZonedDateTime zoned,
        Instant instant,
        UUID id,
        URI uri,
        OptionalInt count,
        OptionalLong total,
        OptionalDouble ratio,
        Box<List<LocalDate>> box,
        Box<OptionalInt>[] boxes,
        Node<Character> tree,
        Map<LocalDate, UUID> ids) {
      return new Values(
          letter, date, time, local, offset, zoned, instant, id, uri, count, total, ratio, box,
          boxes, tree, ids);
    }

    @McpTool(description = "")
    public LocalDate day() {
      return LocalDate.EPOCH;
    }

    @McpTool(description = "")
    public List<Instant> instants() {
      return List.of(Instant.EPOCH);
    }

    @McpTool(description = "")
    public Box<OffsetDateTime> boxed() {
      return new Box<>(OffsetDateTime.of(LocalDate.EPOCH, LocalTime.MIDNIGHT, ZoneOffset.UTC));
    }

    @McpResource(uri = "days://{day}")
    public String note(LocalDate day) {
      return "note of " + day.getDayOfWeek();
    }

    @McpPrompt(description = "")
    public String plan(LocalDate day, @Nullable UUID id) {
      return "plan " + day.plusDays(1) + id;
    }
  }

  @Test
  void valuesArriveAndErrorsNameTheirPlace() {
    try (var server = new Server("test", "1.0")) {
      server.add(new Features());
      server.tool("record", "", Values.class, Values.class, (context, values) -> values);
      try (var client = Client.connect(Target.server(server))) {
        var given = new LinkedHashMap<String, Object>();
        ROWS.forEach(row -> given.put(row.name(), parsed(row.value())));
        for (var tool : List.of("record", "parameters")) {
          assertEquals(given, client.callTool(tool, given).structuredContent());
          for (var row : ROWS) {
            var wrong = new LinkedHashMap<>(given);
            wrong.put(row.name(), parsed(row.wrong()));
            var result = client.callTool(tool, wrong);
            assertTrue(result.isError(), row.name());
            assertTrue(result.text().contains(row.error()), result.text());
          }
        }
        List.of("count", "total", "ratio").forEach(given::remove);
        assertEquals(given, client.callTool("record", given).structuredContent());
      }
    }
  }

  @Test
  void schemasHaveFormats() {
    var schema = Schema.ofArguments(Values.class);
    var properties = Mapper.objectOf(Json.parse(Json.write(schema.get("properties"))));
    for (var row : ROWS) {
      assertEquals(parsed(row.schema()), properties.get(row.name()), row.name());
    }
    assertEquals(ROWS.size(), properties.size());
  }

  @Test
  void methodsReturnThem() {
    try (var server = new Server("test", "1.0")) {
      server.add(new Features());
      try (var client = Client.connect(Target.server(server))) {
        assertEquals(LocalDate.EPOCH, client.callTool("day", null, LocalDate.class));
        assertEquals("1970-01-01", client.callTool("day").text());
        assertEquals(
            List.of(Instant.EPOCH),
            client.callTool("instants", null, new TypeOf<List<Instant>>() {}));
        assertEquals(
            Map.of("value", "1970-01-01T00:00:00Z"), client.callTool("boxed").structuredContent());
        var note =
            (TextResourceContents) client.readResource("days://1970-01-01").contents().get(0);
        assertEquals("note of THURSDAY", note.text());
        var plan = client.getPrompt("plan", Map.of("day", "1970-01-01")).messages().get(0);
        assertEquals("plan 1970-01-02null", ((TextContent) plan.content()).text());
      }
    }
  }

  record Grown<T>(List<Grown<List<T>>> children) {}

  @Test
  void genericRecordsMustHaveAnEnd() {
    var type = new TypeOf<Grown<String>>() {}.type();
    var error = assertThrows(InvalidArgumentException.class, () -> Schema.of(type));
    assertTrue(error.getMessage().endsWith("is nested too deeply"), error.getMessage());
  }

  private static @Nullable Object parsed(String json) {
    return Json.parse(json.replace('\'', '"'));
  }
}

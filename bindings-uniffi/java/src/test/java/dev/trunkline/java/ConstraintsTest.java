package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Negative;
import jakarta.validation.constraints.NegativeOrZero;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.Past;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import jakarta.validation.constraints.Size;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The annotations of Jakarta Validation on components and parameters. */
@Timeout(60)
class ConstraintsTest {
  record Constrained(
      @Min(1) @Max(7) int days,
      @Min(-1000) byte small,
      @Positive int positive,
      @PositiveOrZero long natural,
      @Negative short negative,
      @NegativeOrZero double cold,
      @DecimalMin("-89.5") @DecimalMax(value = "90", inclusive = false) double latitude,
      @DecimalMin(value = "1.5", inclusive = false) int rounded,
      @Size(min = 2, max = 3) String code,
      @NotEmpty List<@NotBlank @Pattern(regexp = "a+|b") String> tags,
      @Size(max = 2) Map<String, @Max(9) Integer> counts,
      @Size(max = 1) String[] array,
      @Email String mail,
      @Nullable @Min(5) Integer maybe,
      Optional<@Min(5) Integer> optional,
      List<Optional<@Size(min = 2) String>> gaps,
      @Pattern(regexp = "a.*") @Pattern(regexp = ".*z") String both,
      @NotBlank(groups = Late.class) String grouped,
      @Pattern(regexp = "a", flags = Pattern.Flag.CASE_INSENSITIVE) String flagged,
      @Size(max = 3) byte[] bytes,
      @Past LocalDate born) {}

  interface Late {}

  /** A component, the keywords of its schema, a value of it, and one that the core refuses. */
  private record Row(String name, String schema, String value, @Nullable String wrong) {}

  private static final List<Row> ROWS =
      List.of(
          new Row("days", "{'type': 'integer', 'minimum': 1, 'maximum': 7}", "7", "8"),
          new Row("small", "{'type': 'integer', 'minimum': -128, 'maximum': 127}", "-128", "-129"),
          new Row("positive", "{'type': 'integer', 'minimum': 1, 'maximum': 2147483647}", "1", "0"),
          new Row("natural", "{'type': 'integer', 'minimum': 0}", "0", "-1"),
          new Row("negative", "{'type': 'integer', 'minimum': -32768, 'maximum': -1}", "-1", "0"),
          new Row("cold", "{'type': 'number', 'maximum': 0}", "0.0", "0.1"),
          new Row(
              "latitude",
              "{'type': 'number', 'minimum': -89.5, 'exclusiveMaximum': 90}",
              "-89.5",
              "90"),
          new Row("rounded", "{'type': 'integer', 'minimum': 2, 'maximum': 2147483647}", "2", "1"),
          new Row("code", "{'type': 'string', 'minLength': 2, 'maxLength': 3}", "'NO'", "'N'"),
          new Row(
              "tags",
              "{'type': 'array', 'minItems': 1, 'items': {'type': 'string', 'pattern': '\\\\S',"
                  + " 'allOf': [{'pattern': '^(?:a+|b)$'}]}}",
              "['aa']",
              "['ab']"),
          new Row(
              "counts",
              "{'type': 'object', 'maxProperties': 2, 'additionalProperties':"
                  + " {'type': 'integer', 'minimum': -2147483648, 'maximum': 9}}",
              "{'a': 9}",
              "{'a': 10}"),
          new Row(
              "array",
              "{'type': 'array', 'maxItems': 1, 'items': {'type': 'string'}}",
              "['long']",
              "['a', 'b']"),
          new Row("mail", "{'type': 'string', 'format': 'email'}", "'a@example.com'", "5"),
          new Row(
              "maybe",
              "{'anyOf': [{'type': 'integer', 'minimum': 5, 'maximum': 2147483647},"
                  + " {'type': 'null'}]}",
              "5",
              "4"),
          new Row(
              "optional",
              "{'anyOf': [{'type': 'integer', 'minimum': 5, 'maximum': 2147483647},"
                  + " {'type': 'null'}]}",
              "5",
              "4"),
          new Row(
              "gaps",
              "{'type': 'array', 'items': {'anyOf': [{'type': 'string', 'minLength': 2},"
                  + " {'type': 'null'}]}}",
              "['ab', null]",
              "['a']"),
          new Row(
              "both",
              "{'type': 'string', 'pattern': '^(?:a.*)$', 'allOf': [{'pattern': '^(?:.*z)$'}]}",
              "'abcz'",
              "'abc'"),
          new Row("grouped", "{'type': 'string'}", "''", null),
          new Row("flagged", "{'type': 'string'}", "'A'", null),
          new Row("bytes", "{'type': 'string'}", "'AQID'", null),
          new Row("born", "{'type': 'string', 'format': 'date'}", "'1970-01-01'", null));

  static class Features {
    @McpTool(description = "")
    public int add(@Min(1) int first, @Size(max = 2) List<@Max(3) Integer> others) {
      return first + others.stream().mapToInt(other -> other).sum();
    }
  }

  @Test
  void schemasHaveThem() {
    var schema = Schema.ofArguments(Constrained.class);
    var properties = Mapper.objectOf(Json.parse(Json.write(schema.get("properties"))));
    for (var row : ROWS) {
      assertEquals(parsed(row.schema()), properties.get(row.name()), row.name());
    }
    assertEquals(ROWS.size(), properties.size());
  }

  @Test
  void argumentsMustKeepThem() {
    try (var server = new Server("test", "1.0")) {
      server.add(new Features());
      server.tool("take", "", Constrained.class, (context, given) -> "taken");
      try (var client = Client.connect(Target.server(server))) {
        var given = new LinkedHashMap<String, Object>();
        ROWS.forEach(row -> given.put(row.name(), parsed(row.value())));
        assertEquals("taken", client.callTool("take", given).text());
        for (var row : ROWS) {
          if (row.wrong() != null) {
            var wrong = new LinkedHashMap<>(given);
            wrong.put(row.name(), parsed(row.wrong()));
            var result = client.callTool("take", wrong);
            assertTrue(result.isError() && result.text().contains("/" + row.name()), result.text());
          }
        }
        var numbers = Map.of("first", 1, "others", List.of(3, 3));
        assertEquals(7, client.callTool("add", numbers, Integer.class));
        for (var wrong :
            List.of(
                Map.of("first", 0, "others", List.of()),
                Map.of("first", 1, "others", List.of(4)),
                Map.of("first", 1, "others", List.of(1, 1, 1)))) {
          assertTrue(client.callTool("add", wrong).isError(), wrong.toString());
        }
      }
    }
  }

  private static @Nullable Object parsed(String json) {
    return Json.parse(json.replace('\'', '"'));
  }
}

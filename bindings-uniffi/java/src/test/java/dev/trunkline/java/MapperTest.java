package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.trunkline.java.model.ContentBlock;
import dev.trunkline.java.model.ListToolsResult;
import dev.trunkline.java.model.Progress;
import dev.trunkline.java.model.Resource;
import dev.trunkline.java.model.ResourceContents;
import dev.trunkline.java.model.TaskStatus;
import dev.trunkline.java.model.TextResourceContents;
import dev.trunkline.java.model.Token;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Year;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MapperTest {
  enum Unit {
    @JsonName("c")
    CELSIUS,
    FAHRENHEIT
  }

  sealed interface Shape {}

  record Circle(double radius) implements Shape {}

  record Square(double side) implements Shape {}

  record Tree(String name, List<Tree> children) {}

  record Everything(
      int count,
      long[] numbers,
      Optional<String> note,
      @Nullable Unit unit,
      Map<String, List<Shape>> shapes,
      @JsonName("for") Duration time) {}

  @Test
  void recordsAreWrittenAndRead() {
    var shapes = Map.of("all", List.of(new Circle(1), new Square(2)));
    var given =
        new Everything(
            1,
            new long[] {1, 2},
            Optional.of("x"),
            Unit.CELSIUS,
            Map.of("all", List.copyOf(shapes.get("all"))),
            Duration.ofNanos(1_500_000));
    var json = Json.write(given);
    assertTrue(json.contains("\"unit\":\"c\"") && json.contains("\"for\":2"), json);
    assertTrue(json.contains("{\"type\":\"Square\",\"side\":2.0}"), json);
    var read = Json.read(Json.parse(json), Everything.class);
    assertEquals(json, Json.write(read));
    assertEquals(Duration.ofMillis(2), read.time());
  }

  record Flag(boolean on) {}

  @Test
  void whatDoesNotFitIsNamedWithItsPath() {
    assertMessage("on: it must be a boolean, and is a number", "{\"on\":1}", Flag.class);
    assertMessage(
        "children[0].name: it must be a string, and is a number",
        "{\"name\":\"a\",\"children\":[{\"name\":5}]}",
        Tree.class);
    assertMessage("needs the member type with one of Circle, Square", "{}", Shape.class);
    assertMessage(
        "count: it must be a number of the type int", "{\"count\":1.5}", Everything.class);
    assertMessage(
        "numbers: it must be an array, and is a number",
        "{\"count\":1,\"numbers\":5}",
        Everything.class);
    assertMessage(
        "one of c, FAHRENHEIT, and is K",
        "{\"count\":1,\"numbers\":[],\"unit\":\"K\"}",
        Everything.class);
  }

  private static void assertMessage(String expected, String json, Class<?> type) {
    var error =
        assertThrows(IllegalArgumentException.class, () -> Json.read(Json.parse(json), type));
    assertTrue(error.getMessage().contains(expected), error.getMessage());
  }

  @Test
  void schemasDescribeRecords() {
    assertEquals(
        Map.of("$ref", "#/$defs/Tree"),
        ((Map<?, ?>) ((Map<?, ?>) Schema.of(Tree.class).get("properties")).get("children"))
            .get("items"));
    var everything = Schema.of(Everything.class);
    assertEquals(
        List.of("count", "numbers", "shapes"),
        ((List<?>) everything.get("required")).subList(0, 3));
    assertTrue(Json.write(everything).contains("\"enum\":[\"c\",\"FAHRENHEIT\"]"));
    assertTrue(Json.write(everything).contains("\"const\":\"Circle\""));
    assertThrows(InvalidArgumentException.class, () -> Schema.of(Thread.class));
  }

  sealed interface Expression {}

  record Value(int value) implements Expression {}

  record Pair(Expression left, Expression right) implements Expression {}

  sealed interface Scaled extends Expression {}

  record Twice(Expression expression) implements Scaled {}

  record Formula(Expression expression) {}

  @Test
  void sealedInterfacesMayContainThemselvesAndOthers() {
    var given = new Formula(new Pair(new Value(1), new Twice(new Value(2))));
    try (var server = new Server("calculator", "1")) {
      server.tool(
          "echo",
          "",
          Formula.class,
          Formula.class,
          (context, formula) -> new Formula(formula.expression()));
      try (var client = Client.connect(Target.server(server))) {
        assertEquals(given, client.callTool("echo", given, Formula.class));
        var wrong = Map.of("type", "Pair", "left", Map.of("type", "Value", "value", 1));
        assertTrue(client.callTool("echo", Map.of("expression", wrong)).isError());
      }
    }
  }

  record Box<T>(T value) {}

  @Test
  void typesWithoutASchemaAreRefused() {
    var raw = assertThrows(InvalidArgumentException.class, () -> Schema.of(Box.class));
    assertTrue(raw.getMessage().endsWith("needs its type arguments, as in Box<String>"));
    try (var server = new Server("test", "1")) {
      var error =
          assertThrows(
              InvalidArgumentException.class,
              () -> server.tool("list", "", Page.class, (context, page) -> ""));
      var expected = "tool list: $.box.value: java.lang.Thread has no JSON Schema";
      assertTrue(error.getMessage().startsWith(expected), error.getMessage());
      assertTrue(error.getMessage().endsWith("with Jackson"), error.getMessage());
    }
  }

  record Page(Box<Thread> box) {}

  @Test
  @SuppressWarnings("rawtypes")
  void aTypeWithoutAnArgumentIsRefused() {
    assertThrows(InvalidArgumentException.class, () -> new TypeOf() {});
  }

  interface First {
    record Item(int count) implements Ambiguous {}

    record Node(List<Node> nodes) {}
  }

  interface Second {
    record Item(String text) implements Ambiguous {}

    record Node(String name, List<Node> nodes) {}
  }

  sealed interface Ambiguous permits First.Item, Second.Item {}

  sealed interface Marked {}

  record Mark(String type) implements Marked {}

  record Nodes(First.Node first, Second.Node second) {}

  @Test
  void recordsMayHaveOneNameUnlessItTellsThemApart() {
    var definitions = (Map<?, ?>) Schema.of(Nodes.class).get("$defs");
    assertEquals(Set.of("Node", "Node2"), definitions.keySet());
    for (var union : List.of(Ambiguous.class, Marked.class)) {
      assertThrows(InvalidArgumentException.class, () -> Schema.of(union));
    }
  }

  record Inner(String name, Optional<String> country) {}

  record Outer(Optional<Inner> place, List<Shape> shapes) {}

  @Test
  void recordsInsideArgumentsRefuseOtherMembers() {
    try (var server = new Server("test", "1")) {
      server.tool("where", "", Outer.class, (context, given) -> "there");
      try (var client = Client.connect(Target.server(server))) {
        for (var wrong :
            List.of(
                "{'place': {'name': 'Oslo', 'contry': 'NO'}, 'shapes': []}",
                "{'shapes': [{'type': 'Circle', 'radius': 1, 'color': 'red'}]}")) {
          var result = client.callTool("where", Json.parseObject(wrong.replace('\'', '"')));
          assertTrue(result.isError(), result.text());
        }
        assertEquals(
            "there",
            client.callTool(
                "where",
                new Outer(Optional.of(new Inner("Oslo", Optional.empty())), List.of(new Circle(1))),
                String.class));
      }
    }
    assertTrue(!Json.write(Schema.ofResult(Outer.class)).contains("additionalProperties"));
  }

  record Dated(Object date) {}

  @Test
  void whatCannotBeWrittenIsNamedWithItsPath() {
    var numbers = Map.of("a", List.of(1, Double.NaN));
    var error = assertThrows(InvalidArgumentException.class, () -> Json.write(numbers));
    assertEquals("$.a[1]: NaN has no form in JSON", error.getMessage());
    var dates = new Dated[] {new Dated(Year.of(2026))};
    error = assertThrows(InvalidArgumentException.class, () -> Json.write(dates));
    assertTrue(
        error.getMessage().startsWith("$[0].date: a java.time.Year has no form"),
        error.getMessage());
    // Not lists of their parts.
    for (var value : List.of(Path.of("a"), new ObjectMapper().createObjectNode())) {
      assertThrows(InvalidArgumentException.class, () -> Json.write(value));
    }
  }

  record Collections(
      ArrayList<String> list,
      HashSet<Integer> set,
      HashMap<Long, String> map,
      Map<Unit, String> units) {}

  record Queued(Queue<String> queue) {}

  record Sorted(TreeMap<String, String> map) {}

  record Flags(Map<Boolean, String> map) {}

  record Counter(AtomicInteger count) {}

  @Test
  void collectionsThatAreAcceptedCanBeRead() {
    var given =
        new Collections(
            new ArrayList<>(List.of("a")),
            new HashSet<>(Set.of(1)),
            new HashMap<>(Map.of(2L, "b")),
            Map.of(Unit.CELSIUS, "warm"));
    Schema.of(Collections.class);
    assertEquals(given, Json.read(Json.parse(Json.write(given)), Collections.class));
    for (var type : List.of(Queued.class, Sorted.class, Flags.class, Counter.class)) {
      assertThrows(InvalidArgumentException.class, () -> Schema.ofArguments(type));
      assertEquals("object", Schema.ofResult(type).get("type"));
    }
  }

  record Gaps(List<Optional<String>> list, Map<String, Optional<Integer>> map) {}

  @Test
  void whatIsOptionalInACollectionMayBeNull() {
    try (var server = new Server("test", "1")) {
      server.tool("echo", "", Gaps.class, Gaps.class, (context, given) -> given);
      try (var client = Client.connect(Target.server(server))) {
        var gaps =
            new Gaps(List.of(Optional.of("a"), Optional.empty()), Map.of("b", Optional.empty()));
        assertEquals(gaps, client.callTool("echo", gaps, Gaps.class));
      }
    }
  }

  record Counted(int count, String name) {}

  @Test
  void falseIsNoNumberAndNoString() {
    assertMessage(
        "count: it must be a number of the type int, and is a boolean",
        "{\"count\":false,\"name\":\"a\"}",
        Counted.class);
    assertMessage(
        "name: it must be a string, and is a boolean",
        "{\"count\":1,\"name\":false}",
        Counted.class);
  }

  @Test
  void hugeNumbersAreRefused() {
    assertMessage("it must be a number of the type big", "1e999999999", BigInteger.class);
    assertMessage("more than 1000 characters", "1".repeat(1001), BigInteger.class);
    assertMessage("it must be a number of the type float, and is 1.0E39", "1e39", float.class);
    assertMessage("it must be a number of the type double, and is 1E+400", "1e400", double.class);
    assertMessage("it must be a number of the type long", "9".repeat(400), Duration.class);
  }

  @Test
  void hugeNumbersOfPeersAreTheLargestOfTheirType() {
    for (var huge : List.of("9".repeat(400), "1e400")) {
      for (var sign : List.of("", "-")) {
        var largest = sign.isEmpty() ? Long.MAX_VALUE : Long.MIN_VALUE;
        var resource = "{\"uri\":\"a:b\",\"name\":\"r\",\"size\":" + sign + huge + "}";
        assertEquals(largest, read(resource, Resource.class).size());
        var list = "{\"tools\":[],\"ttlMs\":" + sign + huge + "}";
        assertEquals(Duration.ofMillis(largest), read(list, ListToolsResult.class).ttl());
        var progress = read("{\"progress\":" + sign + huge + "}", Progress.class).progress();
        assertEquals(Math.copySign(Double.MAX_VALUE, largest), progress);
      }
    }
    assertEquals(
        Duration.ofMillis(1), read("{\"tools\":[],\"ttlMs\":1.5}", ListToolsResult.class).ttl());
  }

  private static <T> T read(String text, Class<T> type) {
    return Json.read(Json.parse(text), type);
  }

  @Test
  void decimalsKeepTheirDigits() {
    var digits = "123456789012345678901234567890.12";
    assertEquals(new BigDecimal(digits), Json.read(Json.parse(digits), BigDecimal.class));
    assertEquals(digits, Json.write(Json.parse(digits)));
    assertEquals(0.1, Json.parse("0.1"));
  }

  @Test
  void integersKeepTheirDigits() {
    for (var digits :
        List.of("9223372036854775808", "18446744073709551616", "-20000000000000000001")) {
      assertEquals(new BigInteger(digits), Json.parse(digits));
    }
    assertEquals(Long.MIN_VALUE, Json.parse("-9223372036854775808"));
  }

  record Annotated(@org.springframework.lang.Nullable String note, String text) {}

  @Test
  void nullableComponentsAreOptionalWhateverTheAnnotationTargets() {
    assertEquals(List.of("text"), Schema.of(Annotated.class).get("required"));
  }

  enum Operator {
    PLUS {
      @Override
      int apply(int left, int right) {
        return left + right;
      }
    };

    abstract int apply(int left, int right);
  }

  record Sum(Operator operator) {}

  @Test
  void constantsMayHaveBodies() {
    var sum = Json.read(Json.parse("{\"operator\":\"PLUS\"}"), Sum.class);
    assertEquals("{\"operator\":\"PLUS\"}", Json.write(sum));
    assertTrue(Schema.isWrapped(Operator.class));
  }

  record Numbers(byte small, Short medium, int large, long huge, BigInteger any) {}

  /** A component, its bounds, and numbers that are out of range. */
  private record Bounds(String name, long minimum, long maximum, List<String> refused) {}

  private static final List<Bounds> BOUNDS =
      List.of(
          new Bounds("small", Byte.MIN_VALUE, Byte.MAX_VALUE, List.of("-129", "128")),
          new Bounds("medium", Short.MIN_VALUE, Short.MAX_VALUE, List.of("-32769", "32768")),
          new Bounds(
              "large", Integer.MIN_VALUE, Integer.MAX_VALUE, List.of("-2147483649", "2147483648")),
          new Bounds(
              "huge",
              Long.MIN_VALUE,
              Long.MAX_VALUE,
              List.of(
                  "-9223372036854775809",
                  "-9223372036854777856",
                  "9223372036854775808",
                  "9223372036854775808.0",
                  "1e30")));

  @Test
  void integersOutOfRangeAreRefused() {
    try (var server = new Server("test", "1.0")) {
      server.tool("same", "", Numbers.class, Numbers.class, (context, numbers) -> numbers);
      try (var client = Client.connect(Target.server(server))) {
        var zeros = Map.of("small", 0L, "medium", 0L, "large", 0L, "huge", 0L);
        var given = new LinkedHashMap<String, Object>(zeros);
        given.put("any", new BigInteger("9223372036854775808"));
        for (var bounds : BOUNDS) {
          var own = new LinkedHashMap<>(given);
          for (var number : List.of(bounds.minimum(), bounds.maximum())) {
            own.put(bounds.name(), number);
            assertEquals(own, client.callTool("same", own).structuredContent());
          }
          for (var number : bounds.refused()) {
            own.put(bounds.name(), Json.parse(number));
            var result = client.callTool("same", own);
            assertTrue(result.isError(), number);
            // The schema has no bounds of 64 bits. Reading refuses what is beyond them.
            var isLong = bounds.name().equals("huge");
            var error =
                isLong
                    ? "huge: it must be a number of the type long"
                    : number.startsWith("-")
                        ? "less than the minimum of " + bounds.minimum()
                        : "greater than the maximum of " + bounds.maximum();
            assertTrue(isLong || result.text().contains("/" + bounds.name() + ": "), result.text());
            assertTrue(result.text().contains(error), result.text());
          }
        }
      }
    }
  }

  @Test
  void integersHaveTheBoundsOfTheirTypes() {
    assertEquals(
        Json.parse(
            """
            {"small": {"type": "integer", "minimum": -128, "maximum": 127},
             "medium": {"type": "integer", "minimum": -32768, "maximum": 32767},
             "large": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647},
             "huge": {"type": "integer"},
             "any": {"type": "integer"}}
            """),
        Json.parse(Json.write(Schema.of(Numbers.class).get("properties"))));
  }

  @Test
  void modelsKeepWhatTheyDoNotKnow() {
    var block = Json.read(Json.parse("{\"type\":\"hologram\",\"data\":1}"), ContentBlock.class);
    assertEquals("hologram", block.type());
    assertEquals("{\"type\":\"hologram\",\"data\":1}", Json.write(block));
    assertEquals("new", Json.read("new", TaskStatus.class).value());
    var text = Json.read(Json.parse("{\"uri\":\"a\",\"text\":\"b\"}"), ResourceContents.class);
    assertEquals(new TextResourceContents("a", "b"), text);
    assertEquals("Token", new Token("secret").toString());
  }
}

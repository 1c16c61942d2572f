package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.RevisionChoice;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Reads messages of peers as all languages do: the tables of {@code tests}. */
class ReadersTest {
  private static final Map<String, Object> READERS =
      Json.parseObject(Scripted.table("json-readers.json"));
  private static final Map<String, Object> SCHEMA = Mapper.objectOf(READERS.get("schema"));
  private static final Row[] CASES = Json.read(READERS.get("cases"), Row[].class);
  private static final Row[] REFUSED = Json.read(READERS.get("refused"), Row[].class);
  private static final Jackson JACKSON =
      new Jackson2(
          new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false));

  /** Tools that get their arguments in different ways. */
  private static final List<String> TOOLS = List.of("map", "read", "record", "method", "jackson");

  private static final BlockingQueue<Object> SEEN = new LinkedBlockingQueue<>();
  private static final BlockingQueue<Object> JUDGED = new LinkedBlockingQueue<>();
  private static final Server SERVER = new Server("readers", "1.0");
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static @Nullable Listener listener;

  record Row(
      String name, String sent, @Nullable String seen, @Nullable @JsonName("mayRefuse") String in) {
    /** Compares what was seen, or the error instead of it, with what may be. */
    void check(String who, @Nullable Object given, @Nullable String refusal) {
      if (refusal == null) {
        assertEquals(known(Json.parse(seen), SCHEMA), known(given, SCHEMA), who);
      } else {
        assertTrue(in != null && refusal.contains(in), who + " is refused: " + refusal);
      }
    }
  }

  record Transfer(@Nullable Double amount, @Nullable String kind) {}

  record Payment(
      @Nullable Double amount,
      @Nullable String kind,
      @Nullable String status,
      @Nullable BigDecimal huge,
      @Nullable Transfer transfer,
      @Nullable List<Transfer> items,
      @Nullable Map<String, Transfer> named) {}

  static final class Methods {
    @McpTool(description = "Pays.")
    public String method(
        @Nullable Double amount,
        @Nullable String kind,
        @Nullable String status,
        @Nullable BigDecimal huge,
        @Nullable Transfer transfer,
        @Nullable List<Transfer> items,
        @Nullable Map<String, Transfer> named) {
      return see(new Payment(amount, kind, status, huge, transfer, items, named));
    }
  }

  @BeforeAll
  static void serve() {
    SERVER.tool("map", "", SCHEMA, (context, given) -> see(given));
    SERVER.tool("read", "", SCHEMA, (context, given) -> see(Json.read(given, Payment.class)));
    SERVER.tool("record", "", Payment.class, (context, given) -> see(given));
    SERVER.add(new Methods());
    JACKSON.tool(SERVER, "jackson", "", Payment.class, (context, given) -> see(given));
    SERVER.middleware(
        (context, request) -> {
          JUDGED.add(request.params().get("arguments"));
          return request.next();
        },
        "tools/call");
    listener = SERVER.listen(options -> options.port(0).json(true));
  }

  @AfterAll
  static void close() {
    SERVER.close();
  }

  private static String see(Object given) {
    SEEN.add(Mapper.write(given));
    return "";
  }

  @Test
  void middlewareKeepsIntegersOfResults() {
    var content =
        Map.<String, Object>of(
            "huge", new BigInteger("18446744073709551617"),
            "least", new BigInteger("-9223372036854775809"));
    try (var server = new Server("readers", "1.0")) {
      Map<String, Object> open = Map.of("type", "object");
      server.tool(
          "huge", "", open, options -> options.outputSchema(open), (context, given) -> given);
      server.middleware((context, request) -> request.next(request.params()), "tools/call");
      try (var client = Client.connect(Target.server(server))) {
        assertEquals(content, client.callTool("huge", content).structuredContent());
      }
    }
  }

  @TestFactory
  Stream<DynamicTest> handlersSeeTheArgumentsThatWereValidated() {
    assertTrue(CASES.length >= 40);
    return Stream.of(CASES)
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.name(),
                    () -> {
                      for (var tool : TOOLS) {
                        call(row, tool);
                      }
                    }));
  }

  private static void call(Row row, String tool) throws Exception {
    var refusal = call(tool, row.sent());
    var seen = SEEN.poll();
    var judged = JUDGED.poll();
    if (refusal != null && refusal.contains("is not allowed")) {
      // A record has no other members.
      assertTrue(!List.of("map", "read").contains(tool) && seen == null, refusal);
    } else {
      row.check("the handler of " + tool, seen, refusal);
      row.check("middleware", judged, refusal);
    }
  }

  @TestFactory
  Stream<DynamicTest> whatIsNoJsonNeverReachesAHandler() {
    assertTrue(REFUSED.length >= 8);
    return Stream.of(REFUSED)
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.name(),
                    () -> {
                      assertNotNull(call("map", row.sent()));
                      assertNull(SEEN.poll());
                      // Some is refused behind middleware.
                      JUDGED.poll();
                    }));
  }

  /** Calls a tool with a text as its arguments, and returns why it was refused. */
  private static @Nullable String call(String tool, String arguments) throws Exception {
    var body =
        """
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":{}}}}
        """
            .formatted(tool, arguments);
    var request =
        HttpRequest.newBuilder(URI.create(listener.url()))
            .timeout(Duration.ofSeconds(30))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .POST(BodyPublishers.ofString(body))
            .build();
    var response = Json.parseObject(HTTP.send(request, BodyHandlers.ofString()).body());
    if (response.get("error") != null) {
      return Json.write(response.get("error"));
    }
    var result = Json.read(response.get("result"), CallToolResult.class);
    return result.isError() ? result.text() : null;
  }

  @TestFactory
  Stream<DynamicTest> clientsSeeTheContentThatWasValidated() {
    return Stream.of(CASES).map(row -> DynamicTest.dynamicTest(row.name(), () -> see(row)));
  }

  private static void see(Row row) {
    var tool =
        Map.of("name", "pay", "inputSchema", Map.of("type", "object"), "outputSchema", SCHEMA);
    var results =
        Map.of(
            "tools/list",
            Json.write(Map.of("tools", List.of(tool))),
            "tools/call",
            "{\"content\":[],\"structuredContent\":" + row.sent() + "}");
    try (var client = scripted(results)) {
      // Results are validated against the schemas that are known.
      assertEquals(1, client.listTools().size());
      Map<String, Function<Client, @Nullable Object>> readers =
          Map.of(
              "the result", one -> one.callTool("pay").structuredContent(),
              "the map", one -> one.callTool("pay", null, Map.class),
              "the record", one -> one.callTool("pay", null, Payment.class),
              "the record of Jackson", one -> JACKSON.callTool(one, "pay", null, Payment.class));
      readers.forEach(
          (who, read) -> {
            try {
              row.check(who, Mapper.write(read.apply(client)), null);
            } catch (TrunklineException refused) {
              row.check(who, null, refused.getMessage());
            }
          });
    }
  }

  private static Client scripted(Map<String, String> results) {
    return Client.connect(
        Target.transport(new Scripted(results)),
        options -> options.revision(RevisionChoice.LEGACY).reconnect(false));
  }

  /** The members that the schema has. Equal numbers are equal. */
  private static @Nullable Object known(@Nullable Object value, Map<String, Object> schema) {
    if (schema.get("$ref") instanceof String reference) {
      var name = reference.substring("#/$defs/".length());
      return known(value, Mapper.objectOf(Mapper.objectOf(SCHEMA.get("$defs")).get(name)));
    } else if (value instanceof Map<?, ?> object) {
      var properties = (Map<?, ?>) schema.getOrDefault("properties", Map.of());
      var members = new LinkedHashMap<Object, @Nullable Object>();
      object.forEach(
          (name, member) -> {
            var of = properties.get(name);
            of = of == null ? schema.get("additionalProperties") : of;
            if (of != null) {
              members.put(name, known(member, Mapper.objectOf(of)));
            }
          });
      return members;
    } else if (value instanceof List<?> items) {
      return items.stream().map(item -> known(item, Mapper.objectOf(schema.get("items")))).toList();
    } else if (value instanceof Number number) {
      return new BigDecimal(number.toString()).stripTrailingZeros();
    }
    return value;
  }
}

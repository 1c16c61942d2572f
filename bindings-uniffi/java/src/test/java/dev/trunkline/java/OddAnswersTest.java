package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.LogKt;
import dev.trunkline.LogRecord;
import dev.trunkline.java.model.BlobResourceContents;
import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.CompleteArgument;
import dev.trunkline.java.model.ContentBlock;
import dev.trunkline.java.model.Prompt;
import dev.trunkline.java.model.PromptReference;
import dev.trunkline.java.model.Resource;
import dev.trunkline.java.model.ResourceContents;
import dev.trunkline.java.model.ResourceTemplate;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.TextContent;
import dev.trunkline.java.model.TextResourceContents;
import dev.trunkline.java.model.Tool;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import kotlin.Unit;
import kotlin.jvm.functions.Function1;
import kotlinx.serialization.json.JsonObject;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Odd responses, of which every language makes the same: {@code tests/odd-answers.json}. */
class OddAnswersTest {
  private static final Row[] TABLE =
      Json.read(Json.parse(Scripted.table("odd-answers.json")), Row[].class);

  private static final String END = "no more records";
  private static final BlockingQueue<Log.Record> LOGGED = new LinkedBlockingQueue<>();
  private static @Nullable Function1<LogRecord, Unit> before;

  record Row(
      String what,
      String method,
      String result,
      @Nullable String tools,
      @Nullable Map<String, Object> reads,
      @Nullable List<String> warns,
      @Nullable Map<String, Object> record,
      @Nullable String refused) {}

  @BeforeAll
  static void listen() {
    before = LogKt.getLogger();
    Log.setLogger(LOGGED::add);
  }

  @AfterAll
  static void restore() {
    LogKt.setLogger(before);
  }

  @TestFactory
  Stream<DynamicTest> everyOddResponseHasOneVerdict() {
    assertTrue(TABLE.length >= 80);
    return Stream.of(TABLE)
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.method() + ": " + row.what(),
                    () -> {
                      records();
                      if (row.refused() == null) {
                        check(row);
                      } else {
                        var error = assertThrows(TransportException.class, () -> check(row));
                        assertTrue(error.getMessage().contains(row.refused()), error.getMessage());
                      }
                    }));
  }

  private static void check(Row row) throws InterruptedException {
    var results = new HashMap<>(Map.of(row.method(), row.result()));
    if (row.tools() != null) {
      results.put("tools/list", row.tools());
    }
    // A client with a given revision needs no discovery.
    var revision =
        row.method().equals("server/discover") ? RevisionChoice.AUTO : RevisionChoice.V2025_11_25;
    try (var client =
        Client.connect(
            Target.transport(new Scripted(results)),
            options -> options.revision(revision).reconnect(false))) {
      if (row.tools() != null) {
        client.listTools();
      }
      var found = read(client, row.method());
      found.keySet().retainAll(row.reads() == null ? List.of() : row.reads().keySet());
      assertEquals(row.reads(), found);
    }
    if (row.warns() == null) {
      assertEquals(List.of(), records());
    } else {
      awaitWarning(row.warns(), row.record());
    }
  }

  /** The records so far: those of the core arrive on a thread of their own. */
  private static List<String> records() throws InterruptedException {
    LogKt.receive(new LogRecord("info", END, "test", END, new JsonObject(Map.of())));
    var records = new ArrayList<String>();
    for (var next = next(); ; next = next()) {
      assertNotNull(next, "the thread of the log is stuck");
      if (next.message().equals(END)) {
        return records;
      }
      records.add(next.message());
    }
  }

  private static Log.@Nullable Record next() throws InterruptedException {
    return LOGGED.poll(20, TimeUnit.SECONDS);
  }

  private static void awaitWarning(List<String> parts, @Nullable Map<String, Object> record)
      throws InterruptedException {
    var others = new ArrayList<Log.Record>();
    while (true) {
      var logged = next();
      assertNotNull(logged, () -> "no warning has " + parts + ", but there are " + others);
      if (parts.stream().allMatch(logged.message()::contains)) {
        if (record != null) {
          assertEquals(record, partsOf(logged));
        }
        return;
      }
      others.add(logged);
    }
  }

  private static Map<String, Object> partsOf(Log.Record logged) {
    return Map.of(
        "level", logged.level(),
        "target", logged.target(),
        "event", logged.event(),
        "fields", logged.fields());
  }

  private static Map<String, @Nullable Object> read(Client client, String method) {
    return new HashMap<>(
        switch (method) {
          case "initialize", "server/discover" -> opened(client);
          case "tools/call" -> called(client.callTool("t"));
          case "tools/list" -> names(client.listTools(), Tool::name);
          case "resources/list" -> names(client.listResources(), Resource::name);
          case "resources/templates/list" ->
              names(client.listResourceTemplates(), ResourceTemplate::name);
          case "prompts/list" -> names(client.listPrompts(), Prompt::name);
          case "prompts/get" ->
              texts(client.getPrompt("p").messages(), message -> textOf(message.content()));
          case "resources/read" ->
              texts(client.readResource("a:b").contents(), OddAnswersTest::textOf);
          case "completion/complete" -> {
            var argument = new CompleteArgument("a", "x");
            var completed = client.complete(new PromptReference("p"), argument);
            yield Map.of("values", completed.completion().values());
          }
          default -> throw new IllegalArgumentException(method);
        });
  }

  private static Map<String, @Nullable Object> opened(Client client) {
    var found = new HashMap<String, @Nullable Object>(Map.of("revision", client.revision()));
    found.put("server", client.serverInfo() == null ? null : client.serverInfo().name());
    return found;
  }

  private static Map<String, @Nullable Object> called(CallToolResult result) {
    return Map.of(
        "text", result.text(),
        "isError", result.isError(),
        "blocks", (long) result.content().size());
  }

  private static <T> Map<String, @Nullable Object> names(List<T> list, Function<T, String> nameOf) {
    return Map.of("names", list.stream().map(nameOf).toList());
  }

  private static <T> Map<String, @Nullable Object> texts(
      List<T> list, Function<T, @Nullable String> textOf) {
    return Map.of("texts", list.stream().map(textOf).toList());
  }

  private static @Nullable String textOf(ContentBlock block) {
    return block instanceof TextContent text ? text.text() : null;
  }

  private static @Nullable String textOf(ResourceContents contents) {
    return contents instanceof BlobResourceContents blob
        ? blob.blob()
        : contents instanceof TextResourceContents text ? text.text() : null;
  }
}

package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.BlobResourceContents;
import dev.trunkline.java.model.CacheScope;
import dev.trunkline.java.model.CompleteArgument;
import dev.trunkline.java.model.Implementation;
import dev.trunkline.java.model.PromptArgument;
import dev.trunkline.java.model.PromptReference;
import dev.trunkline.java.model.StoredEntry;
import dev.trunkline.java.model.TextContent;
import dev.trunkline.java.model.TextResourceContents;
import dev.trunkline.java.model.Tool;
import dev.trunkline.java.model.ToolAnnotations;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

@Timeout(60)
class FeaturesTest {
  record Weather(String city, double temperature) {}

  private static final class Database implements AutoCloseable {
    private boolean isOpen = true;

    @Override
    public void close() {
      isOpen = false;
    }
  }

  private static final class Annotated {
    @SuppressWarnings("deprecation")
    @McpTool(description = "Tells tomorrow's weather")
    Weather forecast(
        Context context, @Description("Where") String city, Optional<Integer> daysAhead) {
      context.info("asked");
      return new Weather(city, 20 + daysAhead.orElse(1));
    }

    @McpTool(description = "Lists cities")
    List<Weather> all() {
      return List.of(new Weather("Oslo", 5), new Weather("Rome", 25));
    }

    @McpTool(description = "Fails")
    String fails() {
      throw new ToolException("no luck");
    }

    @McpResource(uri = "note://{id}", mimeType = "text/plain")
    String note(String id) {
      return "Note " + id;
    }

    @McpPrompt(description = "Greets")
    String hello(String who) {
      return "Hello, " + who;
    }
  }

  @Test
  void methodsAreFeatures() {
    try (var server = new Server("annotated", "1")) {
      assertEquals(5, server.add(new Annotated()).size());
      try (var client = Client.connect(Target.server(server))) {
        var given = Map.<String, Object>of("city", "Oslo", "daysAhead", 3);
        assertEquals(new Weather("Oslo", 23), client.callTool("forecast", given, Weather.class));
        var all = client.callTool("all", null, new TypeOf<List<Weather>>() {});
        assertEquals("Rome", all.get(1).city());
        var properties = client.listTools().get(2).inputSchema().get("properties");
        assertEquals(
            Map.of("type", "string", "description", "Where"), ((Map<?, ?>) properties).get("city"));
        assertTrue(client.callTool("fails").isError());
        var contents = client.readResource("note://7").contents().get(0);
        assertEquals("Note 7", ((TextResourceContents) contents).text());
        var prompt = client.getPrompt("hello", Map.of("who", "Ada")).messages().get(0).content();
        assertEquals("Hello, Ada", ((TextContent) prompt).text());
      }
      assertThrows(InvalidArgumentException.class, () -> server.add("no features"));
    }
  }

  private abstract static class Base<T> {
    @McpTool(description = "Runs")
    abstract String run(T given);

    @McpTool(description = "Greets")
    Object greet() {
      return "Hello";
    }

    @McpTool(description = "Counts letters")
    static int count(String... words) {
      return String.join("", words).length();
    }
  }

  private interface Farewell {
    @McpTool(description = "Says goodbye")
    default String part() {
      return "Goodbye";
    }
  }

  private static final class Derived extends Base<CallsTest.Name> implements Farewell {
    @Override
    @McpTool(description = "Runs for a name")
    String run(CallsTest.Name given) {
      return "for " + given.name();
    }

    @Override
    @McpTool(description = "Greets politely")
    String greet() {
      return "Good evening";
    }
  }

  @Test
  void overriddenAndStaticMethodsAreFeatures() {
    try (var server = new Server("annotated", "1")) {
      assertEquals(4, server.add(new Derived()).size());
      try (var client = Client.connect(Target.server(server))) {
        var given = Map.<String, Object>of("given", Map.of("name", "Ada"));
        assertEquals("for Ada", client.callTool("run", given, String.class));
        assertEquals("Good evening", client.callTool("greet", null, String.class));
        assertEquals("Goodbye", client.callTool("part", null, String.class));
        var words = Map.of("words", List.of("ab", "c"));
        assertEquals("3", client.callTool("count", words, String.class));
      }
    }
  }

  private static final class Described {
    @McpTool(
        description = "Deletes a file",
        title = "Delete",
        readOnlyHint = false,
        destructiveHint = true,
        timeout = "PT0.05S")
    String delete() throws InterruptedException {
      Thread.sleep(60_000);
      return "";
    }

    @McpTool(description = "Adds")
    String plain() {
      return "";
    }

    @McpResource(uri = "note://1", title = "A note", scope = "public", ttl = "PT5S")
    String note() {
      return "";
    }

    @McpPrompt(description = "Greets", title = "Greeting")
    String hello() {
      return "";
    }
  }

  @Test
  void annotationsHaveTheOptionsOfTheirFeature() {
    try (var server = new Server("annotated", "1")) {
      server.add(new Described());
      try (var client = Client.connect(Target.server(server))) {
        var tools = client.listTools();
        assertEquals("Delete", tools.get(0).title());
        var hints = new ToolAnnotations().withReadOnlyHint(false).withDestructiveHint(true);
        assertEquals(hints, tools.get(0).annotations());
        assertNull(tools.get(1).annotations());
        assertTrue(client.callTool("delete", null).isError());
        assertEquals("A note", client.listResources().get(0).title());
        var read = client.readResource("note://1");
        assertEquals(Duration.ofSeconds(5), read.ttl());
        assertEquals(CacheScope.PUBLIC, read.cacheScope());
        assertEquals("Greeting", client.listPrompts().get(0).title());
      }
    }
  }

  private static final class Impatient {
    @McpTool(description = "Waits", timeout = "30s")
    String waits() {
      return "";
    }
  }

  @Test
  void aTimeOfAnAnnotationIsADurationOfIso8601() {
    try (var server = new Server("annotated", "1")) {
      var failure = assertThrows(InvalidArgumentException.class, () -> server.add(new Impatient()));
      assertEquals(
          "timeout: 30s is not a duration of ISO 8601, such as PT30S", failure.getMessage());
    }
  }

  private static final class HalfRight {
    @McpTool(description = "Right")
    String right() {
      return "";
    }

    @McpTool(description = "Wrong")
    String wrong(Thread thread) {
      return "";
    }
  }

  @Test
  void methodsAreAddedTogetherOrNotAtAll() {
    try (var server = new Server("annotated", "1")) {
      assertThrows(InvalidArgumentException.class, () -> server.add(new HalfRight()));
      server.tool("other", "", (context, given) -> "");
      try (var client = Client.connect(Target.server(server))) {
        assertEquals(List.of("other"), client.listTools().stream().map(Tool::name).toList());
      }
    }
  }

  @Test
  void aFeatureIsChangedWhileClientsAreConnected() {
    try (var shop = new Server("shop", "1")) {
      var price =
          shop.tool(
              "price", "The price", options -> options.title("Price"), (context, given) -> "5");
      try (var client = Client.connect(Target.server(shop))) {
        price.update(options -> options.description("The price in euros"));
        var tool = client.listTools().get(0);
        assertEquals("The price in euros, Price", tool.description() + ", " + tool.title());
        assertThrows(
            InvalidArgumentException.class,
            () -> price.update(options -> options.outputSchema(Map.of("type", 5))));
        assertEquals("5", client.callTool("price", null, String.class));
        price.disable();
        assertEquals(List.of(), client.listTools());
        price.enable();
        price.remove();
        price.remove();
        assertEquals(List.of(), client.listTools());
        var late =
            assertThrows(
                InvalidArgumentException.class,
                () -> price.update(options -> options.description("late")));
        assertTrue(late.getMessage().contains("was removed"), late.getMessage());
      }
    }
  }

  @Test
  void aFeatureMayChangeOften() {
    try (var shop = new Server("shop", "1")) {
      var runs = new AtomicInteger();
      var price =
          shop.tool("price", "", options -> runs.incrementAndGet(), (context, given) -> "5");
      for (var count = 0; count < 100; count++) {
        var number = count;
        price.update(options -> options.description("at " + number));
      }
      assertEquals(1, runs.get());
    }
  }

  @Test
  void visibilityAndCompletionsBelongToTheFeature() {
    try (var server = new Server("notes", "1")) {
      server.tool(
          "discount",
          "",
          options -> options.visible(context -> context.clientInfo().name().equals("staff")),
          (context, given) -> "cheaper");
      server.prompt(
          "packing",
          "",
          List.of(new PromptArgument("city")),
          options -> options.complete("city", (context, request) -> cities(request.value())),
          (context, given) -> "Pack");
      var staff = new Implementation("staff", "1");
      try (var client = Client.connect(Target.server(server), options -> options.info(staff))) {
        assertEquals("cheaper", client.callTool("discount", null, String.class));
      }
      try (var client = Client.connect(Target.server(server))) {
        assertThrows(ProtocolException.class, () -> client.callTool("discount"));
        var argument = new CompleteArgument("city", "O");
        var completed = client.complete(new PromptReference("packing"), argument);
        assertEquals(List.of("Oslo"), completed.completion().values());
      }
    }
  }

  private static List<String> cities(String start) {
    return Stream.of("Oslo", "Rome").filter(city -> city.startsWith(start)).toList();
  }

  @Test
  void aLifespanIsOpenWhileSomethingUsesTheServer() {
    var opened = new ArrayList<Database>();
    var inner =
        new Server(
            "inner",
            "1",
            options ->
                options.lifespan(
                    () -> {
                      opened.add(new Database());
                      return opened.get(opened.size() - 1);
                    }));
    inner.tool(
        "open", "", (context, given) -> String.valueOf(context.lifespan(Database.class).isOpen));
    try (inner;
        var outer = new Server("outer", "1")) {
      outer.mount("in", inner);
      try (var client = Client.connect(Target.server(outer))) {
        assertEquals("true", client.callTool("in__open", null, String.class));
        assertTrue(opened.get(0).isOpen);
      }
      assertFalse(opened.get(0).isOpen);
    }
  }

  @Test
  void whatOpensAlthoughItsConnectionIsCancelledIsClosed() throws InterruptedException {
    var opening = new CountDownLatch(1);
    var mayOpen = new Semaphore(0);
    var closed = new CountDownLatch(1);
    Callable<AutoCloseable> lifespan =
        () -> {
          opening.countDown();
          mayOpen.acquireUninterruptibly();
          return closed::countDown;
        };
    try (var server = new Server("test", "1", options -> options.lifespan(lifespan))) {
      var connecting = Client.connectAsync(Target.server(server), options -> {});
      opening.await();
      connecting.cancel(true);
      // The cancellation has arrived by then.
      Thread.sleep(100);
      mayOpen.release();
      closed.await();
    }
  }

  @Test
  void aCheckedExceptionOfALifespanIsACause() {
    try (var server =
        new Server(
            "broken",
            "1",
            options ->
                options.lifespan(
                    () -> {
                      throw new IOException("no database");
                    }))) {
      for (Runnable open :
          List.<Runnable>of(
              () -> Client.connect(Target.server(server)),
              () -> server.listen(),
              () -> server.serveHttp())) {
        Throwable error = assertThrows(TransportException.class, open::run);
        assertTrue(error.getMessage().contains("no database"), error.getMessage());
        while (error != null && !(error instanceof IOException)) {
          error = error.getCause();
        }
        assertTrue(error instanceof IOException);
      }
    }
  }

  @Test
  void aLifespanThatCannotOpenFailsTheConnection() {
    try (var server =
        new Server(
            "broken",
            "1",
            options ->
                options.lifespan(
                    () -> {
                      throw new IllegalStateException("no database");
                    }))) {
      for (Executable open :
          List.<Executable>of(() -> Client.connect(Target.server(server)), () -> server.listen())) {
        assertEquals("no database", assertThrows(IllegalStateException.class, open).getMessage());
      }
    }
  }

  @Test
  void resultsThatDoNotFitAreErrors() {
    try (var server = new Server("weather", "1")) {
      server.tool(
          "now", "", Map.class, Weather.class, (context, given) -> new Weather("Oslo", 21.5));
      server.tool("tell", "", (context, given) -> "rain");
      try (var client = Client.connect(Target.server(server))) {
        var error =
            assertThrows(
                TransportException.class,
                () -> client.callTool("now", null, CallsTest.Greeting.class));
        assertTrue(error.getMessage().contains("Greeting"), error.getMessage());
        assertThrows(TransportException.class, () -> client.callTool("now", null, Integer.class));
        for (var type : List.of(CallsTest.Age.class, Integer.class, Map.class, Object.class)) {
          assertThrows(TransportException.class, () -> client.callTool("tell", null, type));
        }
        var expected = Map.of("city", "Oslo", "temperature", 21.5);
        assertEquals(expected, client.callTool("now", null, Object.class));
      }
    }
  }

  @Test
  void aGroupRoutesToItsServers() {
    try (var server = new Server("weather", "1")) {
      server.tool("now", "", (context, given) -> "rain");
      try (var listener = server.listen(options -> options.port(0));
          var group = ClientGroup.connect(Map.of("weather", Target.url(listener.url())))) {
        assertEquals("rain", group.callTool("weather__now", null, String.class));
        assertThrows(
            TransportException.class,
            () -> group.addServer("broken", Target.command("no-such-program")));
        assertTrue(group.servers().get(1).error() instanceof TransportException);
        group.removeServer("broken");
        assertEquals("weather", group.servers().get(0).name());
        group.removeServer("weather");
        assertEquals(List.of(), group.servers());
        var error =
            assertThrows(
                InvalidArgumentException.class,
                () -> group.addServer("inside", Target.server(server)));
        assertTrue(error.getMessage().contains("Target.client"), error.getMessage());
      }
    }
  }

  @Test
  void aStoreIsCheckedAgainstItsContract() {
    var violations = Server.checkStore(new ForgetfulStore());
    assertFalse(violations.isEmpty());
  }

  /** Keeps nothing. */
  private static final class ForgetfulStore implements Store {
    @Override
    public String get(String key) {
      return null;
    }

    @Override
    public void put(String key, String text, java.time.Duration keepFor) {}

    @Override
    public boolean putIf(String key, String expected, String text, java.time.Duration keepFor) {
      return true;
    }

    @Override
    public void remove(String key) {}

    @Override
    public long append(String log, String entry, long maxEntries, java.time.Duration keepFor) {
      return 1;
    }

    @Override
    public List<StoredEntry> read(String log, long after, long limit, java.time.Duration wait) {
      return List.of();
    }
  }

  private static final class PromptOfNumber {
    @McpPrompt(description = "Counts")
    String count(int number) {
      return "";
    }
  }

  private static final class ResourceOfOther {
    @McpResource(uri = "note://{id}")
    String note(String other) {
      return "";
    }
  }

  private static final class ResourceOfNumber {
    @McpResource(uri = "note://{id}")
    String note(int id) {
      return "";
    }
  }

  @Test
  void parametersThatNoCallCouldFillAreRefused() {
    try (var server = new Server("annotated", "1")) {
      for (var features :
          List.of(new PromptOfNumber(), new ResourceOfOther(), new ResourceOfNumber())) {
        assertThrows(InvalidArgumentException.class, () -> server.add(features));
      }
    }
  }

  @Test
  void onlyResourcesReturnBytes() {
    try (var server = new Server("files", "1")) {
      var bytes = new byte[] {1, 2};
      server.resource("file", "file:///a", (context, request) -> bytes);
      server.tool("file", "", (context, given) -> bytes);
      server.prompt("file", "", (context, given) -> bytes);
      try (var client = Client.connect(Target.server(server))) {
        var blob = (BlobResourceContents) client.readResource("file:///a").contents().get(0);
        assertEquals("AQI=", blob.blob());
        assertTrue(client.callTool("file").isError());
        assertThrows(ProtocolException.class, () -> client.getPrompt("file"));
      }
    }
  }

  @Test
  void eachItemOfAListIsAMessage() {
    try (var server = new Server("prompts", "1")) {
      server.prompt("two", "", (context, given) -> List.of("one", "two"));
      server.prompt("none", "", (context, given) -> List.of());
      try (var client = Client.connect(Target.server(server))) {
        var texts =
            client.getPrompt("two").messages().stream()
                .map(message -> ((TextContent) message.content()).text())
                .toList();
        assertEquals(List.of("one", "two"), texts);
        assertEquals(List.of(), client.getPrompt("none").messages());
      }
    }
  }
}

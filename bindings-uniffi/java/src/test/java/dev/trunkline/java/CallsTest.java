package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.Category;
import dev.trunkline.java.model.ElicitAction;
import dev.trunkline.java.model.ElicitResult;
import dev.trunkline.java.model.Elicited;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.java.model.TaskSupport;
import dev.trunkline.java.model.TextContent;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallsTest {
  private static final ThreadLocal<String> TENANT = ThreadLocal.withInitial(() -> "nobody");

  record Name(String name) {}

  record Age(@Nullable Integer years) {
    Age {
      if (years != null && years < 0) {
        throw new IllegalArgumentException("years must not be negative");
      }
    }
  }

  record Greeting(String text, boolean isPolite) {}

  private static void test(Consumer<Server> features, Consumer<Client> work) {
    test(features, options -> {}, work);
  }

  private static void test(
      Consumer<Server> features, Consumer<ClientOptions> options, Consumer<Client> work) {
    try (var server = new Server("test", "1.0")) {
      features.accept(server);
      try (var client = Client.connect(Target.server(server), options)) {
        work.accept(client);
      }
    }
  }

  private static String textOf(CallToolResult result) {
    return ((TextContent) result.content().get(0)).text();
  }

  @Test
  void argumentsAndResultsAreRecords() {
    test(
        server ->
            server.tool(
                "greet",
                "Greets",
                Name.class,
                Greeting.class,
                (context, given) -> new Greeting("Hello, " + given.name() + "!", true)),
        client -> {
          var greeting = client.callTool("greet", new Name("Ada"), Greeting.class);
          assertEquals(new Greeting("Hello, Ada!", true), greeting);
          var schema = client.listTools().get(0).outputSchema();
          assertEquals(List.of("text", "isPolite"), schema.get("required"));
        });
  }

  @Test
  void aWrongArgumentIsAnErrorOfTheCall() {
    test(
        server -> server.tool("age", "", Age.class, (context, given) -> "old: " + given.years()),
        client -> {
          Map<String, Integer> given = Map.of("years", 5);
          assertEquals("old: 5", textOf(client.callTool("age", given)));
          assertEquals("old: 5", textOf(client.callToolAsync("age", given).join()));
          assertEquals("old: null", textOf(client.callTool("age", Map.of())));
          assertTrue(client.callTool("age", Map.of("years", "five")).isError());
          var misspelled = client.callTool("age", Map.of("yaers", 5));
          assertTrue(misspelled.isError() && textOf(misspelled).contains("yaers"));
          var refused = client.callTool("age", Map.of("years", -1));
          assertTrue(refused.isError() && textOf(refused).contains("years must not be negative"));
        });
  }

  @Test
  void errorsOfToolsReachTheCallerAndOthersDoNot() {
    test(
        server -> {
          server.tool("fails", "", CallsTest::noLuck);
          server.tool(
              "breaks",
              "",
              (context, given) -> CompletableFuture.failedFuture(new Exception("a secret")));
          server.tool(
              "refuses",
              "",
              (context, given) -> {
                throw new ProtocolException("not now", -32000, Map.of("retry", true));
              });
        },
        client -> {
          assertEquals("no luck", textOf(client.callTool("fails")));
          assertFalse(client.callTool("breaks").toString().contains("secret"));
          var error = assertThrows(ProtocolException.class, () -> client.callTool("refuses"));
          assertEquals(-32000, error.code());
          assertEquals(Map.of("retry", true), error.data());
          assertNull(error.getCause());
          // The stack leads to the caller.
          assertTrue(List.of(error.getStackTrace()).toString().contains("CallsTest"));
        });
  }

  private static Object noLuck(Context context, Map<String, Object> given) {
    throw new ToolException("no luck");
  }

  @Test
  void cancellingAFutureInterruptsTheHandler() {
    var started = new CountDownLatch(1);
    var interrupted = new CountDownLatch(1);
    test(
        server -> server.tool("waits", "", (context, given) -> sleep(started, interrupted)),
        client -> {
          var call = client.callToolAsync("waits");
          await(started);
          call.cancel(true);
          await(interrupted);
        });
  }

  @Test
  void aTimeoutOfAFutureInterruptsTheHandler() {
    var started = new CountDownLatch(1);
    var interrupted = new CountDownLatch(1);
    test(
        server -> server.tool("waits", "", (context, given) -> sleep(started, interrupted)),
        client -> {
          var call = client.callToolAsync("waits");
          await(started);
          call.orTimeout(1, TimeUnit.MILLISECONDS);
          await(interrupted);
        });
  }

  @Test
  void cancellingACallCancelsTheStageOfItsHandler() {
    var started = new CountDownLatch(1);
    var stage = new CompletableFuture<String>();
    test(
        server ->
            server.tool(
                "waits",
                "",
                (context, given) -> {
                  started.countDown();
                  return stage;
                }),
        client -> {
          var call = client.callToolAsync("waits");
          await(started);
          call.cancel(true);
          assertThrows(CancellationException.class, () -> stage.get(30, TimeUnit.SECONDS));
        });
  }

  @Test
  void aClosedClientRemembersItsServer() {
    try (var server = new Server("test", "1.0")) {
      var client = Client.connect(Target.server(server));
      client.close();
      assertEquals("test", client.serverInfo().name());
      assertFalse(client.isConnected());
      assertThrows(ClosedException.class, client::ping);
    }
  }

  @Test
  void interruptingACallerCancelsTheCall() throws InterruptedException {
    var started = new CountDownLatch(1);
    var interrupted = new CountDownLatch(1);
    var thrown = new CompletableFuture<Throwable>();
    test(
        server -> server.tool("waits", "", (context, given) -> sleep(started, interrupted)),
        client -> {
          var caller =
              new Thread(
                  () -> {
                    try {
                      client.callTool("waits");
                    } catch (RequestCancelledException error) {
                      thrown.complete(Thread.currentThread().isInterrupted() ? error : null);
                    }
                  });
          caller.start();
          await(started);
          caller.interrupt();
          await(interrupted);
          assertTrue(thrown.join() instanceof RequestCancelledException);
        });
  }

  private static Object sleep(CountDownLatch started, CountDownLatch interrupted)
      throws InterruptedException {
    started.countDown();
    try {
      Thread.sleep(60_000);
    } catch (InterruptedException interrupt) {
      interrupted.countDown();
      throw interrupt;
    }
    return "not cancelled";
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(30, TimeUnit.SECONDS));
    } catch (InterruptedException interrupt) {
      throw new IllegalStateException(interrupt);
    }
  }

  @Test
  void aTimeoutIsAnExceptionOfItsOwn() {
    var never = new CountDownLatch(1);
    test(
        server -> server.tool("waits", "", (context, given) -> sleep(never, never)),
        client ->
            assertThrows(
                RequestTimeoutException.class,
                () ->
                    client.callTool(
                        "waits", null, options -> options.timeout(Duration.ofMillis(50)))));
  }

  @Test
  void theContextIsThatOfTheThread() {
    test(
        server -> server.tool("context", "", (context, given) -> Context.current().method()),
        client -> {
          assertEquals("tools/call", textOf(client.callTool("context")));
          assertThrows(IllegalStateException.class, Context::current);
        });
  }

  @Test
  void handlersHaveTheClassLoaderOfTheirServerOrClient() {
    var thread = Thread.currentThread();
    var before = thread.getContextClassLoader();
    var own = new ClassLoader(before) {};
    var seen = new ArrayList<ClassLoader>();
    // The library's thread starts with the other one.
    test(server -> {}, client -> {});
    thread.setContextClassLoader(own);
    try {
      test(
          server ->
              server.tool(
                  "load",
                  "",
                  (context, given) -> {
                    seen.add(Thread.currentThread().getContextClassLoader());
                    return context.elicit("Who?", Name.class).content().name();
                  }),
          options ->
              options.onElicit(
                  request -> {
                    seen.add(Thread.currentThread().getContextClassLoader());
                    return new ElicitResult(ElicitAction.ACCEPT).withContent(Map.of("name", "Ada"));
                  }),
          client -> client.callTool("load"));
    } finally {
      thread.setContextClassLoader(before);
    }
    assertTrue(seen.size() >= 2 && seen.stream().allMatch(own::equals), "seen: " + seen);
  }

  @Test
  void progressArrivesBeforeTheResult() {
    var seen = new ArrayList<Double>();
    test(
        server ->
            server.tool(
                "counts",
                "",
                (context, given) -> {
                  context.progress(1, 2.0, "half");
                  Thread.sleep(20);
                  return "done";
                }),
        client -> {
          var result =
              client.callTool(
                  "counts",
                  null,
                  options -> options.onProgress(progress -> seen.add(progress.progress())));
          assertEquals("done", textOf(result));
          assertEquals(List.of(1.0), seen);
        });
  }

  @Test
  void handlersOfTheClientAnswerTheServer() {
    test(
        server ->
            server.tool(
                "asks",
                "",
                (context, given) -> {
                  try {
                    return context.elicit("Who?", Name.class).content().name();
                  } catch (Exception caught) {
                    return "what ends the handler is no exception";
                  }
                }),
        options ->
            options.onElicit(
                request ->
                    new ElicitResult(ElicitAction.ACCEPT).withContent(Map.of("name", "Ada"))),
        client -> assertEquals("Ada", textOf(client.callTool("asks"))));
  }

  @Test
  void threadLocalsFollowTheCall() {
    Context.carry(TENANT);
    test(
        server -> {
          server.middleware(
              (context, request) -> {
                TENANT.set("acme of " + TENANT.get());
                try {
                  return request.next();
                } finally {
                  TENANT.remove();
                }
              },
              "tools/call");
          server.tool("tenant", "", (context, given) -> TENANT.get());
        },
        client -> {
          TENANT.set("me");
          assertEquals("acme of me", textOf(client.callTool("tenant")));
          TENANT.remove();
        });
  }

  @Test
  void manyCallsAtOnce() {
    test(
        server -> server.tool("echo", "", Name.class, (context, given) -> given.name()),
        client -> {
          var calls =
              IntStream.range(0, 500)
                  .mapToObj(
                      number ->
                          client.callToolAsync("echo", Map.of("name", "n" + number), options -> {}))
                  .toList();
          for (var number = 0; number < calls.size(); number++) {
            assertEquals("n" + number, textOf(calls.get(number).join()));
          }
        });
  }

  @Test
  void aTaskIsFollowedToItsResult() {
    test(
        server ->
            server.tool(
                "slow",
                "",
                options -> options.task(TaskSupport.OPTIONAL),
                (context, given) -> "done"),
        client -> {
          try (var task = client.startTask("slow", null)) {
            for (var state : task) {
              assertEquals(task.id(), state.taskId());
            }
            assertEquals("done", textOf(task.result()));
          }
        });
  }

  @Test
  void subscriptionsAreIterated() {
    var servers = new ArrayList<Server>();
    test(
        server -> {
          servers.add(server);
          server.resource("note", "note://1", (context, request) -> "text");
        },
        client -> {
          var filter = new SubscriptionFilter().withResources(List.of("note://1"));
          try (var subscription = client.subscribe(filter)) {
            servers.get(0).resourceUpdated("note://1");
            assertEquals("note://1", subscription.iterator().next().uri());
          }
        });
  }

  @Test
  void whatACallbackHasThrownIsTheCause() {
    var reason = new IllegalStateException("no token today");
    try (var locked = new Server("locked", "1");
        var listener = locked.listen(options -> options.port(0))) {
      Throwable thrown =
          assertThrows(
              TrunklineException.class,
              () ->
                  Client.connect(
                      listener.url(),
                      options ->
                          options.onAccessToken(
                              request -> {
                                throw reason;
                              })));
      while (thrown != null && thrown != reason) {
        thrown = thrown.getCause();
      }
      assertEquals(reason, thrown);
    }
  }

  record Order(String drink, Optional<Integer> sugar) {}

  @Test
  void aFormMayHaveOptionalFields() {
    test(
        server ->
            server.tool(
                "orders",
                "",
                (context, given) -> String.valueOf(context.elicit("What?", Order.class).content())),
        options ->
            options.onElicit(
                request -> {
                  assertEquals(
                      "integer", request.requestedSchema().properties().get("sugar").kind());
                  return new ElicitResult(ElicitAction.ACCEPT).withContent(Map.of("drink", "tea"));
                }),
        client -> {
          var ordered = new Order("tea", Optional.empty());
          assertEquals(ordered.toString(), textOf(client.callTool("orders")));
        });
  }

  @Test
  void declineAndCancelDiffer() {
    for (var action : List.of(ElicitAction.DECLINE, ElicitAction.CANCEL)) {
      test(
          server ->
              server.tool(
                  "orders",
                  "",
                  (context, given) -> context.elicit("What?", Order.class).toString()),
          options -> options.onElicit(request -> new ElicitResult(action)),
          client ->
              assertEquals(
                  new Elicited<Order>(action, null).toString(), textOf(client.callTool("orders"))));
    }
  }

  @Test
  void noTimeIsTooLong() {
    var forever = ChronoUnit.FOREVER.getDuration();
    test(
        server -> server.tool("waits", "", (context, given) -> "done"),
        client ->
            assertEquals(
                "done",
                textOf(client.callTool("waits", null, options -> options.timeout(forever)))));
  }

  private static final class BrokenException extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("it fails, too");
    }
  }

  @Test
  void callsAreAnsweredWhateverTheProgramThrows() {
    try (var server =
        new Server(
            "test",
            "1.0",
            options ->
                options.executor(
                    task -> {
                      throw new IllegalStateException("no threads");
                    }))) {
      server.tool("works", "", (context, given) -> "done");
      server.tool(
          "fails",
          "",
          (context, given) -> {
            throw new BrokenException();
          });
      try (var client = Client.connect(Target.server(server))) {
        assertEquals("done", textOf(client.callTool("works")));
        assertTrue(client.callTool("fails").isError());
      }
    }
  }

  @Test
  void aFailureThatCannotBeSentIsAnErrorOfTheCall() {
    test(
        server -> {
          server.tool("deep", "", CallsTest::failDeeply);
          server.tool(
              "cut",
              "",
              (context, given) -> {
                throw new ToolException("\ud83d");
              });
        },
        client -> {
          assertTrue(client.callTool("deep").isError());
          assertEquals("\ufffd", textOf(client.callTool("cut")));
        });
  }

  private static Object failDeeply(Context context, Map<String, Object> given) {
    Object data = 1;
    for (var depth = 0; depth < 300; depth++) {
      data = List.of(data);
    }
    throw new ProtocolException("no", 1, data);
  }

  @Test
  void aResultMayBeEmptyOrAnything() {
    var type = new TypeOf<Optional<Name>>() {};
    test(
        server -> {
          server.tool(
              "find",
              "",
              Name.class,
              type.type(),
              options -> {},
              (context, given) -> Optional.of(given).filter(name -> name.name().equals("Ada")));
          server.tool("any", "", Name.class, Object.class, (context, given) -> given);
        },
        client -> {
          var ada = new Name("Ada");
          assertEquals(Optional.of(ada), client.callTool("find", ada, type));
          assertEquals(Optional.empty(), client.callTool("find", new Name("Alan"), type));
          assertEquals(Map.of("name", "Ada"), client.callTool("any", ada, Object.class));
        });
  }

  @Test
  void aWholeResultHasNoSchema() {
    var hello = new CallToolResult().withContent(List.of(new TextContent("Hello")));
    test(
        server ->
            server.tool("greet", "", Name.class, CallToolResult.class, (context, given) -> hello),
        client -> {
          assertNull(client.listTools().get(0).outputSchema());
          assertEquals("Hello", textOf(client.callTool("greet", Map.of("name", "Ada"))));
        });
  }

  sealed interface Shape permits Circle {}

  record Circle(double radius) implements Shape {}

  record Drawing(Circle circle) {}

  @Test
  void aRecordOfASealedInterfaceCanBeUsedAlone() {
    test(
        server -> {
          server.tool("circle", "", Circle.class, Circle.class, (context, given) -> new Circle(2));
          server.tool(
              "drawing", "", Drawing.class, Circle.class, (context, given) -> given.circle());
        },
        client -> {
          var circle = new Circle(1);
          assertEquals(new Circle(2), client.callTool("circle", circle, Circle.class));
          assertEquals(circle, client.callTool("drawing", new Drawing(circle), Circle.class));
          assertFalse(client.callTool("circle", Map.of("radius", 1)).isError());
          assertTrue(client.callTool("circle", Map.of("radius", 1, "type", "Square")).isError());
        });
  }

  /** A server whose results do not fit. */
  private static final class Misfit implements Transport {
    private final BlockingQueue<String> replies = new LinkedBlockingQueue<>();

    @Override
    public void connect() {}

    @Override
    public void send(String message) {
      var request = (Map<?, ?>) Json.parse(message);
      if (request.containsKey("id")) {
        var info = Map.of("name", "misfit", "version", "1");
        var result =
            "initialize".equals(request.get("method"))
                ? Map.of(
                    "protocolVersion", "2025-11-25", "capabilities", Map.of(), "serverInfo", info)
                : Map.of("content", "yes");
        replies.add(
            Json.write(Map.of("jsonrpc", "2.0", "id", request.get("id"), "result", result)));
      }
    }

    @Override
    public String receive() throws InterruptedException {
      return replies.take();
    }

    @Override
    public void close() {}
  }

  @Test
  void whatAPeerSendsMustFit() {
    Consumer<ClientOptions> legacy = options -> options.revision(RevisionChoice.LEGACY);
    try (var client = Client.connect(Target.transport(new Misfit()), legacy)) {
      var wrong = assertThrows(TransportException.class, () -> client.callTool("wrong"));
      assertTrue(wrong.getMessage().contains("`content` must be an array"), wrong.getMessage());
      var failed =
          assertThrows(CompletionException.class, () -> client.callToolAsync("wrong").join());
      assertInstanceOf(TransportException.class, failed.getCause());
    }
  }

  @Test
  void optionsOfTheTransportReachAConfiguration() {
    try (var server = new Server("test", "1.0");
        var listener = server.listen(options -> options.port(0))) {
      server.tool("key", "", (context, given) -> context.headers().get("x-key"));
      Consumer<ClientOptions> options =
          given -> given.endpoint(endpoint -> endpoint.headers(Map.of("x-key", "abc")));
      var configuration = Target.configuration(Map.of("url", listener.url()));
      for (var target : List.of(Target.url(listener.url()), configuration)) {
        try (var client = Client.connect(target, options)) {
          assertEquals("abc", client.callTool("key").text());
        }
      }
      var error =
          assertThrows(
              InvalidArgumentException.class,
              () ->
                  Client.connect(
                      listener.url(),
                      given -> given.process(process -> process.env(Map.of("KEY", "abc")))));
      assertTrue(error.getMessage().contains("env"), error.getMessage());
    }
  }

  @Test
  void aServerClosesOnAnInterruptedThread() {
    var server = new Server("test", "1.0");
    var listener = server.listen(options -> options.port(0));
    Thread.currentThread().interrupt();
    try {
      server.close();
    } catch (RequestCancelledException unlessItWasFaster) {
      assertTrue(Thread.currentThread().isInterrupted());
    }
    assertTrue(Thread.interrupted());
    listener.join();
    assertThrows(ClosedException.class, () -> server.tool("late", "", CallsTest::noLuck));
  }

  @Test
  void nullsAreRefused() {
    assertRefused("the name of a server must not be null", () -> new Server(null, "1"));
    try (var server = new Server("test", "1.0")) {
      Handler<Map<String, Object>> none = null;
      assertRefused("the handler must not be null", () -> server.tool("a", "", none));
      assertRefused("the provider must not be null", () -> server.provider(Category.TOOLS, null));
      assertRefused("the category must not be null", () -> server.listChanged(null));
      assertRefused(
          "a list of content blocks and strings has a null",
          () -> Returns.of(Arrays.asList(Content.text(""), null)));
      assertRefused(
          "the name of a tool must not be null",
          () -> server.tool(null, "", (context, given) -> ""));
      assertRefused("the function must not be null", () -> new ToolOptions().visible(null));
      assertRefused("the handler must not be null", () -> new ClientOptions().onToolsChanged(null));
      assertRefused("the store must not be null", () -> new ServerOptions().store((Store) null));
      assertRefused("the lifespan must not be null", () -> new ServerOptions().lifespan(null));
      assertRefused("the handler must not be null", () -> new ServerOptions().onError(null));
      assertRefused("the verifier must not be null", () -> new AuthOptions().verifier(null));
      assertRefused("the transport must not be null", () -> Target.transport((Transport) null));
      assertRefused("the logger must not be null", () -> Log.setLogger(null));
      try (var client = Client.connect(Target.server(server))) {
        assertRefused("the handler must not be null", () -> client.onNotification(null));
        var error =
            assertThrows(
                IllegalArgumentException.class, () -> client.notify("acme/notification", null));
        assertEquals("it must be an object, and is null", error.getMessage());
      }
    }
  }

  private static void assertRefused(
      String message, org.junit.jupiter.api.function.Executable call) {
    assertEquals(message, assertThrows(InvalidArgumentException.class, call).getMessage());
  }
}

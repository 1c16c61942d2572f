package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.Identity;
import dev.trunkline.java.model.LoggingLevel;
import dev.trunkline.java.model.RevisionChoice;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callbacks that block must not delay a bystander. */
@Timeout(60)
@SuppressWarnings("deprecation")
class BlockedTest {
  /** More than the threads of the library. */
  private static final int BLOCKED_CALLS = 40;

  private final CountDownLatch blocked = new CountDownLatch(BLOCKED_CALLS);
  private final CountDownLatch released = new CountDownLatch(1);

  private void block() {
    blocked.countDown();
    try {
      released.await();
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
  }

  /** The debug mode of coroutines adds theirs. */
  private static String nameOf(Thread thread) {
    return thread.getName().replaceFirst(" @.*", "");
  }

  private static Server server() {
    var server = new Server("test", "1.0");
    server.tool(
        "speak",
        "",
        (context, given) -> {
          context.progress(1);
          context.info("a message");
          return "done";
        });
    return server;
  }

  private void bystander(Server server) throws InterruptedException {
    assertTrue(blocked.await(30, TimeUnit.SECONDS));
    try (var client = Client.connect(Target.server(server))) {
      assertEquals("done", client.callTool("speak").text());
    }
  }

  @Test
  void notificationsOfManyClients() throws InterruptedException {
    try (var server = server()) {
      var clients = new ArrayList<Client>();
      for (var number = 0; number < BLOCKED_CALLS; number++) {
        var client =
            Client.connect(
                Target.server(server),
                options -> options.logLevel(LoggingLevel.INFO).onLog(message -> block()));
        clients.add(client);
        client.callTool("speak");
      }
      bystander(server);
      released.countDown();
      clients.forEach(Client::close);
    }
  }

  @Test
  void listenersOfManyClients() throws InterruptedException {
    try (var server = server()) {
      var clients = new ArrayList<Client>();
      for (var number = 0; number < BLOCKED_CALLS; number++) {
        var client =
            Client.connect(Target.server(server), options -> options.logLevel(LoggingLevel.INFO));
        clients.add(client);
        client.onNotification(notification -> block());
      }
      clients.forEach(client -> client.callTool("speak"));
      bystander(server);
      released.countDown();
      clients.forEach(Client::close);
    }
  }

  @Test
  void progressOfManyCalls() throws InterruptedException {
    try (var server = server();
        var client = Client.connect(Target.server(server))) {
      var calls = new ArrayList<CompletableFuture<CallToolResult>>();
      for (var number = 0; number < BLOCKED_CALLS; number++) {
        calls.add(
            client.callToolAsync(
                "speak", null, options -> options.onProgress(progress -> block())));
      }
      bystander(server);
      // The result waits for the last report.
      assertTrue(calls.stream().noneMatch(call -> call.isDone()));
      released.countDown();
      calls.forEach(call -> assertEquals("done", call.join().text()));
    }
  }

  @Test
  void handlersOnTheThreadThatCallsThem() {
    try (var server = new Server("test", "1", options -> options.executor(Runnable::run))) {
      server.tool("ask", "", (context, given) -> String.valueOf(context.listRoots().size()));
      Consumer<ClientOptions> options =
          given -> given.executor(Runnable::run).roots(List.of()).revision(RevisionChoice.LEGACY);
      try (var client = Client.connect(Target.server(server), options)) {
        assertEquals("0", client.callTool("ask").text());
      }
    }
  }

  @Test
  void progressWhileTheExecutorIsOccupied() throws Exception {
    var executor = Executors.newSingleThreadExecutor();
    try (var server = server();
        var client = Client.connect(Target.server(server), options -> options.executor(executor))) {
      var call =
          executor.submit(
              () -> client.callTool("speak", null, options -> options.onProgress(step -> {})));
      assertEquals("done", call.get(30, TimeUnit.SECONDS).text());
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void dependentsOfManyFutures() throws Exception {
    try (var server = server();
        var client = Client.connect(Target.server(server))) {
      var calls = new ArrayList<CompletableFuture<String>>();
      for (var number = 0; number < BLOCKED_CALLS; number++) {
        calls.add(
            client
                .callToolAsync("speak", null, options -> {})
                .thenApply(result -> client.callTool("speak").text()));
      }
      for (var call : calls) {
        assertEquals("done", call.get(30, TimeUnit.SECONDS));
      }
    }
  }

  /**
   * A handler that was short runs on the thread that receives its calls, with the class loader of
   * the program. If it blocks, another thread receives.
   */
  @Test
  void shortHandlers() throws Exception {
    var isBlocking = new AtomicBoolean();
    var thread = new AtomicReference<Thread>();
    var loaders = ConcurrentHashMap.<ClassLoader>newKeySet();
    try (var server = new Server("test", "1.0")) {
      server.tool(
          "once",
          "",
          (context, given) -> {
            thread.set(Thread.currentThread());
            loaders.add(Thread.currentThread().getContextClassLoader());
            if (isBlocking.getAndSet(false)) {
              released.await();
            }
            return "done";
          });
      try (var client = Client.connect(Target.server(server))) {
        do {
          client.callTool("once");
        } while (!nameOf(thread.get()).equals("trunkline"));
        isBlocking.set(true);
        var cancelled = client.callToolAsync("once", null, options -> {});
        while (isBlocking.get()) {
          Thread.sleep(1);
        }
        assertEquals("done", client.callTool("once").text());
        var blocked = thread.get();
        cancelled.cancel(true);
        // The interrupt ends the wait, and no later call.
        do {
          assertEquals("done", client.callTool("once").text());
        } while (blocked.isInterrupted() || !nameOf(thread.get()).equals("trunkline"));
      }
    }
    assertEquals(Set.of(Thread.currentThread().getContextClassLoader()), loaders);
  }

  @Test
  void shortHandlersOnAnExecutorOfTheProgram() {
    var names = ConcurrentHashMap.<String>newKeySet();
    var executor = Executors.newSingleThreadExecutor(task -> new Thread(task, "own"));
    try (var server = new Server("test", "1", options -> options.executor(executor))) {
      server.tool(
          "once",
          "",
          (context, given) -> String.valueOf(names.add(nameOf(Thread.currentThread()))));
      try (var client = Client.connect(Target.server(server))) {
        for (var number = 0; number < 200; number++) {
          client.callTool("once");
        }
      }
    } finally {
      executor.shutdownNow();
    }
    assertEquals(Set.of("own"), names);
  }

  /** Security G3: calls of others do not wait for all that one caller has sent before. */
  @Test
  void callersTakeTurnsOnAnExecutorOfTheProgram() throws Exception {
    var executor = Executors.newFixedThreadPool(2);
    var began = new Semaphore(0);
    var ends = new Semaphore(0);
    var calls = new ArrayList<CompletableFuture<?>>();
    try (var server = new Server("test", "1", options -> options.executor(executor))) {
      server.tool(
          "block",
          "",
          (context, given) -> {
            began.release();
            ends.acquire();
            return "late";
          });
      server.tool("now", "", (context, given) -> context.auth().subject());
      var listener =
          server.listen(
              options ->
                  options
                      .port(0)
                      .auth(
                          auth ->
                              auth.resource("http://127.0.0.1/mcp")
                                  .verifier(given -> new Identity().withSubject(given.token()))));
      try (var alice =
              Client.connect(listener.url(), options -> options.auth(auth -> auth.token("alice")));
          var bob =
              Client.connect(listener.url(), options -> options.auth(auth -> auth.token("bob")))) {
        for (var number = 0; number < 60; number++) {
          calls.add(alice.callToolAsync("block", null, options -> {}));
        }
        began.acquire(2);
        var call = bob.callToolAsync("now", null, options -> {});
        while (!call.isDone()) {
          ends.release();
          Thread.sleep(200);
        }
        assertEquals("bob", call.join().text());
        assertTrue(calls.stream().filter(CompletableFuture::isDone).count() <= calls.size() / 2);
        ends.release(calls.size());
        for (var other : calls) {
          other.get(30, TimeUnit.SECONDS);
        }
      }
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void aLogger() throws InterruptedException {
    var arrived = new CountDownLatch(1);
    Log.setLogger(
        record -> {
          arrived.countDown();
          if (released.getCount() > 0) {
            block();
          }
        });
    try (var server = server();
        var listener =
            server.listen(
                options -> options.port(0).host("0.0.0.0").allowedHosts(java.util.List.of("*")))) {
      // The listener warns that other machines can reach it.
      assertTrue(listener.port() > 0);
      assertTrue(arrived.await(30, TimeUnit.SECONDS));
      try (var client = Client.connect(Target.server(server))) {
        assertEquals("done", client.callTool("speak").text());
      }
    } finally {
      released.countDown();
      Log.setLogger(record -> System.err.println(record.message()));
    }
  }
}

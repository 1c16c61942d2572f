package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.TextContent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** How each way to serve ends with each end of the process, while a call is in flight. */
@Timeout(300)
class ExitTest {
  private static final long CALL_MS = 1300;

  /** The call exceeds the deadline of the server only if the program has a longer one. */
  private static final Duration SHORT_DEADLINE = Duration.ofMillis(3000);

  private static final long LONG_CALL_MS = 4000;

  /** A call that only ends because the process exits. */
  private static final long ENDLESS_CALL_MS = 600_000;

  /** Long enough for a busy machine. */
  private static final long STEP_TIMEOUT_SECONDS = 60;

  private static final int EXIT_STATUS = 7;

  /** 128 and SIGTERM. */
  private static final int SIGTERM_STATUS = 143;

  /** How a program serves. */
  private enum Serving {
    /** {@code serveStdio}. */
    STDIO,
    /** {@code listen}, and nothing that closes it. */
    LISTEN,
    /** {@code listen}, closed by a shutdown hook of the program. */
    LISTEN_WITH_HOOK,
    /** {@code listen}, closed by a shutdown hook with a deadline beyond that of the server. */
    LISTEN_WITH_LONG_HOOK,
    /** {@code serveHttp}. */
    FOREGROUND,
    /** In the web server of the JDK, without a shutdown hook. */
    MOUNTED,
    /** In the web server of the JDK, which a shutdown hook stops. */
    MOUNTED_WITH_HOOK,
    /** In a servlet container that stops in a shutdown hook. */
    SERVLET,
  }

  /** How the process ends while the call is in flight. */
  private enum End {
    SIGNAL,
    /** While a drain that lasts longer than the test waits for the call. */
    SECOND_SIGNAL,
    EXIT,
    EXIT_IN_HANDLER,
    END_OF_MAIN,
  }

  /** The outcome of the call. */
  private enum Call {
    ANSWERED,
    LOST,
  }

  @TestFactory
  Stream<DynamicTest> callsInFlightAtTheEndOfTheProcess() {
    return Arrays.stream(Serving.values())
        .flatMap(
            serving ->
                Arrays.stream(End.values())
                    .filter(end -> end != End.END_OF_MAIN || returns(serving))
                    .map(
                        end ->
                            DynamicTest.dynamicTest(
                                serving + ", " + end, () -> check(serving, end))));
  }

  /** Returns whether the main method can return while the program serves. */
  private static boolean returns(Serving serving) {
    return serving != Serving.STDIO && serving != Serving.FOREGROUND;
  }

  private static void check(Serving serving, End end) throws Exception {
    var command =
        List.of(
            "java",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djna.library.path=" + System.getProperty("jna.library.path", ""),
            "-cp",
            System.getProperty("java.class.path"),
            Program.class.getName(),
            serving.name(),
            end.name());
    var isStdio = serving == Serving.STDIO;
    var process =
        isStdio ? null : new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    try (var client =
        Client.connect(
            process == null ? Target.command(command) : Target.url(urlOf(process)),
            options -> options.connectTimeout(Duration.ofSeconds(STEP_TIMEOUT_SECONDS)))) {
      var program =
          ProcessHandle.of(Long.parseLong(client.callTool("pid", null, String.class)))
              .orElseThrow();
      var started = new CountDownLatch(1);
      var call =
          client.callToolAsync(
              "slow",
              Map.of("ms", lengthOf(serving, end)),
              options -> options.onProgress(progress -> started.countDown()));
      assertTrue(started.await(STEP_TIMEOUT_SECONDS, TimeUnit.SECONDS));
      var exited = program.onExit();
      if (end == End.SIGNAL) {
        program.destroy();
      } else if (end == End.SECOND_SIGNAL) {
        signalUntilEnd(program);
      } else {
        // The process may end before the response arrives.
        client.callToolAsync("end", Map.of("how", end.name())).exceptionally(failed -> null);
      }
      var outcome = outcomeOf(call);
      assertEquals(isEndless(end) ? Call.LOST : Call.ANSWERED, outcome);
      if (end == End.END_OF_MAIN && isMounted(serving)) {
        assertTrue(program.isAlive(), "the threads of a web server keep the process running");
        return;
      }
      exited.get(STEP_TIMEOUT_SECONDS, TimeUnit.SECONDS);
      if (process != null) {
        assertTrue(process.waitFor(STEP_TIMEOUT_SECONDS, TimeUnit.SECONDS));
        var expected =
            switch (end) {
              case SIGNAL -> signalled(serving);
              case SECOND_SIGNAL -> SIGTERM_STATUS;
              case END_OF_MAIN -> 0;
              default -> EXIT_STATUS;
            };
        assertEquals(expected, process.exitValue());
      }
    } finally {
      if (process != null) {
        process.destroyForcibly();
      }
    }
  }

  /** Signals come until the process ends: the first ones may come before its hooks run. */
  private static void signalUntilEnd(ProcessHandle program) throws InterruptedException {
    var until = System.nanoTime() + TimeUnit.SECONDS.toNanos(STEP_TIMEOUT_SECONDS);
    while (program.isAlive()) {
      assertTrue(System.nanoTime() < until, "it does not end");
      program.destroy();
      Thread.sleep(300);
    }
  }

  /** Returns whether the call does not end before the process. */
  private static boolean isEndless(End end) {
    return end == End.EXIT_IN_HANDLER || end == End.SECOND_SIGNAL;
  }

  private static boolean isMounted(Serving serving) {
    return serving.name().startsWith("MOUNTED") || serving == Serving.SERVLET;
  }

  private static long lengthOf(Serving serving, End end) {
    if (isEndless(end)) {
      return ENDLESS_CALL_MS;
    }
    return serving == Serving.LISTEN_WITH_LONG_HOOK ? LONG_CALL_MS : CALL_MS;
  }

  /** The URL that the program prints once it serves. */
  private static String urlOf(Process process) {
    var output = new BufferedReader(new InputStreamReader(process.getInputStream()));
    var line =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return output.readLine();
              } catch (IOException failed) {
                throw new UncheckedIOException(failed);
              }
            });
    return line.orTimeout(STEP_TIMEOUT_SECONDS, TimeUnit.SECONDS).join();
  }

  /** In the foreground, the library handles the signal, and main returns. */
  private static int signalled(Serving serving) {
    return serving == Serving.FOREGROUND ? 0 : SIGTERM_STATUS;
  }

  private static Call outcomeOf(CompletableFuture<CallToolResult> call) throws Exception {
    try {
      var result = call.get(STEP_TIMEOUT_SECONDS, TimeUnit.SECONDS);
      assertEquals("done", ((TextContent) result.content().get(0)).text());
      return Call.ANSWERED;
    } catch (ExecutionException lost) {
      assertThrows(
          TrunklineException.class,
          () -> {
            throw lost.getCause();
          });
      return Call.LOST;
    }
  }

  /** The program that serves. */
  static final class Program {
    private static final CountDownLatch RETURNS = new CountDownLatch(1);
    private static final Set<Thread.State> STARTING =
        Set.of(Thread.State.RUNNABLE, Thread.State.BLOCKED);

    private Program() {}

    record Slow(long ms) {}

    record Ending(End how) {}

    public static void main(String[] arguments) throws Exception {
      var serving = Serving.valueOf(arguments[0]);
      var end = End.valueOf(arguments[1]);
      var main = Thread.currentThread();
      var server =
          new Server(
              "ending",
              "1.0",
              options -> {
                if (end == End.SECOND_SIGNAL) {
                  options.drainDeadline(Duration.ofMillis(ENDLESS_CALL_MS));
                } else if (serving == Serving.LISTEN_WITH_LONG_HOOK) {
                  options.drainDeadline(SHORT_DEADLINE);
                }
              });
      server.tool("pid", "", (context, given) -> Long.toString(ProcessHandle.current().pid()));
      server.tool(
          "slow",
          "",
          Slow.class,
          (context, given) -> {
            // The URL is printed before the listener handles signals, which loads classes.
            while (serving == Serving.FOREGROUND && STARTING.contains(main.getState())) {
              Thread.sleep(10);
            }
            context.progress(1);
            Thread.sleep(given.ms());
            return "done";
          });
      server.tool("end", "", Ending.class, (context, given) -> end(given.how()));
      switch (serving) {
        case STDIO -> {
          server.serveStdio();
          return;
        }
        case LISTEN -> System.out.println(server.listen(options -> options.port(0)).url());
        case LISTEN_WITH_HOOK -> {
          atExit(server::close);
          System.out.println(server.listen(options -> options.port(0)).url());
        }
        case LISTEN_WITH_LONG_HOOK -> {
          atExit(() -> server.close(Duration.ofSeconds(20)));
          System.out.println(server.listen(options -> options.port(0)).url());
        }
        case FOREGROUND -> {
          var listener = server.listen(options -> options.port(0));
          System.out.println(listener.url());
          listener.run();
          return;
        }
        case MOUNTED, MOUNTED_WITH_HOOK -> mounted(server, serving == Serving.MOUNTED_WITH_HOOK);
        default -> servlet(server);
      }
      RETURNS.await();
    }

    private static String end(End how) {
      switch (how) {
        case EXIT -> new Thread(() -> System.exit(EXIT_STATUS)).start();
        case EXIT_IN_HANDLER -> System.exit(EXIT_STATUS);
        default -> RETURNS.countDown();
      }
      return "ends";
    }

    private static void atExit(Runnable work) {
      Runtime.getRuntime().addShutdownHook(new Thread(work));
    }

    private static void mounted(Server server, boolean hasHook) throws IOException {
      var endpoint = server.endpoint(options -> {});
      var web = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      var threads = Executors.newCachedThreadPool();
      web.setExecutor(threads);
      web.createContext("/", endpoint.toHandler());
      web.start();
      if (hasHook) {
        atExit(
            () -> {
              endpoint.close();
              threads.shutdown();
              try {
                threads.awaitTermination(5, TimeUnit.SECONDS);
              } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
              }
              web.stop(0);
            });
      }
      System.out.println("http://127.0.0.1:" + web.getAddress().getPort());
    }

    private static void servlet(Server server) throws Exception {
      var jetty = new org.eclipse.jetty.server.Server(new InetSocketAddress("127.0.0.1", 0));
      var context = new ServletContextHandler();
      var endpoint = server.endpoint(options -> {});
      context.addServlet(new ServletHolder(new McpServlet(endpoint)), "/mcp/*");
      jetty.setHandler(new GracefulHandler(context));
      jetty.setStopTimeout(5000);
      jetty.setStopAtShutdown(true);
      jetty.start();
      System.out.println(
          "http://127.0.0.1:"
              + ((ServerConnector) jetty.getConnectors()[0]).getLocalPort()
              + "/mcp/");
    }
  }
}

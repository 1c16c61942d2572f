package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.trunkline.java.model.Identity;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.java.model.TextContent;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Enumeration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MountTest {
  /** Uses the URL of a server. */
  @FunctionalInterface
  private interface Work {
    void accept(String url) throws Exception;
  }

  private static void withServlet(Server server, Work work) throws Exception {
    var jetty = new org.eclipse.jetty.server.Server(new InetSocketAddress("127.0.0.1", 0));
    var context = new ServletContextHandler();
    var endpoint =
        server.endpoint(options -> options.allowedOrigins(List.of("https://app.example")));
    var servlet = new McpServlet(endpoint);
    context.addServlet(new ServletHolder(servlet), "/mcp/*");
    Filter filter =
        (request, response, chain) -> {
          response.setContentType("text/html");
          ((HttpServletResponse) response).setHeader("Access-Control-Allow-Origin", "*");
          var given = (HttpServletRequest) request;
          var isOverHttp2 = given.getHeader("over-http-2") != null;
          chain.doFilter(isOverHttp2 ? new OverHttp2(given) : given, response);
        };
    context.addFilter(filter, "/*", EnumSet.of(DispatcherType.REQUEST));
    jetty.setHandler(context);
    jetty.start();
    try {
      work.accept(
          "http://127.0.0.1:"
              + ((ServerConnector) jetty.getConnectors()[0]).getLocalPort()
              + "/mcp/");
    } finally {
      jetty.stop();
    }
  }

  /** A request over HTTP/2 as Jetty has it: its host is no header. */
  private static final class OverHttp2 extends HttpServletRequestWrapper {
    private OverHttp2(HttpServletRequest request) {
      super(request);
    }

    @Override
    public String getProtocol() {
      return "HTTP/2.0";
    }

    @Override
    public String getHeader(String name) {
      return name.equalsIgnoreCase("host") ? null : super.getHeader(name);
    }

    @Override
    public Enumeration<String> getHeaderNames() {
      var names = Collections.list(super.getHeaderNames());
      names.removeIf("host"::equalsIgnoreCase);
      return Collections.enumeration(names);
    }
  }

  private static Server echo(CountDownLatch started, CountDownLatch interrupted) {
    var server = new Server("mounted", "1", options -> options.keepAlive(Duration.ofMillis(200)));
    server.tool(
        "echo",
        "",
        CallsTest.Name.class,
        (context, given) -> {
          context.progress(1);
          return given.name();
        });
    server.tool(
        "waits",
        "",
        (context, given) -> {
          started.countDown();
          try {
            Thread.sleep(60_000);
          } catch (InterruptedException interrupt) {
            interrupted.countDown();
          }
          return "late";
        });
    return server;
  }

  @Test
  void aServletServesEachRevision() throws Exception {
    try (var server = echo(new CountDownLatch(1), new CountDownLatch(1))) {
      withServlet(
          server,
          url -> {
            for (var revision : List.of(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
              try (var client = Client.connect(url, options -> options.revision(revision))) {
                var seen = new ArrayList<Double>();
                var result =
                    client.callTool(
                        "echo",
                        java.util.Map.of("name", "é"),
                        options -> options.onProgress(progress -> seen.add(progress.progress())));
                assertEquals("é", ((TextContent) result.content().get(0)).text());
                assertEquals(List.of(1.0), seen);
              }
            }
          });
    }
  }

  @Test
  void headersThatAFilterHasSetAreReplaced() throws Exception {
    try (var server = new Server("mounted", "1")) {
      withServlet(
          server,
          url -> {
            var request =
                HttpRequest.newBuilder(URI.create(url)).header("origin", "https://app.example");
            var headers =
                HttpClient.newHttpClient()
                    .sendAsync(request.build(), HttpResponse.BodyHandlers.discarding())
                    .join()
                    .headers();
            assertEquals(List.of("application/json"), headers.allValues("content-type"));
            assertEquals(
                List.of("https://app.example"), headers.allValues("access-control-allow-origin"));
          });
    }
  }

  @Test
  void theHostOfARequestOverHttp2IsChecked() throws Exception {
    try (var server = new Server("mounted", "1")) {
      withServlet(
          server,
          url -> {
            var strange = URI.create(url.replace("127.0.0.1", "0.0.0.0"));
            var request = HttpRequest.newBuilder(strange).header("over-http-2", "1").build();
            var response =
                HttpClient.newHttpClient()
                    .sendAsync(request, HttpResponse.BodyHandlers.discarding())
                    .join();
            assertEquals(403, response.statusCode());
          });
    }
  }

  @Test
  void aClientThatLeavesAServletCancelsItsCall() throws Exception {
    var started = new CountDownLatch(1);
    var interrupted = new CountDownLatch(1);
    try (var server = echo(started, interrupted)) {
      withServlet(
          server,
          url -> {
            try (var client = Client.connect(url)) {
              var call = client.callToolAsync("waits");
              assertTrue(started.await(30, TimeUnit.SECONDS));
              call.cancel(true);
              assertTrue(interrupted.await(30, TimeUnit.SECONDS));
            }
          });
    }
  }

  private static final Filter NO_FILTER =
      (request, response, chain) -> chain.doFilter(request, response);

  /** Serves with few threads, of which Jetty itself needs some. */
  private static void withFewThreads(Server server, Work work) throws Exception {
    withFewThreads(server, NO_FILTER, work);
  }

  private static void withFewThreads(Server server, Filter filter, Work work) throws Exception {
    withFewThreads(server, filter, Duration.ofSeconds(2), work);
  }

  private static void withFewThreads(Server server, Filter filter, Duration idle, Work work)
      throws Exception {
    var threads = new QueuedThreadPool(8, 8);
    var jetty = new org.eclipse.jetty.server.Server(threads);
    var connector = new ServerConnector(jetty);
    connector.setHost("127.0.0.1");
    connector.setIdleTimeout(idle.toMillis());
    jetty.addConnector(connector);
    var context = new ServletContextHandler();
    var servlet = new McpServlet(server.endpoint(options -> {}));
    context.addServlet(new ServletHolder(servlet), "/mcp/*");
    context.addFilter(filter, "/*", EnumSet.of(DispatcherType.REQUEST));
    jetty.setHandler(context);
    jetty.start();
    try {
      work.accept("http://127.0.0.1:" + connector.getLocalPort() + "/mcp/");
    } finally {
      jetty.stop();
    }
  }

  @Test
  void idleStreamsOccupyNoThreadOfTheContainer() throws Exception {
    try (var server = echo(new CountDownLatch(1), new CountDownLatch(1))) {
      withFewThreads(
          server,
          NO_FILTER,
          // Connections wait for the other clients.
          Duration.ofSeconds(30),
          url -> {
            var clients = new ArrayList<Client>();
            try {
              for (var count = 0; count < 20; count++) {
                clients.add(
                    Client.connect(url, options -> options.revision(RevisionChoice.LEGACY)));
                clients.get(count).subscribe(new SubscriptionFilter().withTools(true));
              }
              for (var client : clients) {
                assertEquals("a", client.callTool("echo", new CallsTest.Name("a"), String.class));
              }
            } finally {
              clients.forEach(Client::close);
            }
          });
    }
  }

  private static Server flood(CountDownLatch ended) {
    var server = new Server("mounted", "1");
    server.tool(
        "floods",
        "",
        (context, given) -> {
          try {
            while (true) {
              context.progress(System.nanoTime(), null, "x".repeat(10_000));
              Thread.sleep(1);
            }
          } finally {
            ended.countDown();
          }
        });
    return server;
  }

  @Test
  void aClientThatDoesNotReadIsDisconnected() throws Exception {
    var ended = new CountDownLatch(1);
    try (var server = flood(ended)) {
      withFewThreads(
          server,
          url -> {
            try (var socket = flooded(url)) {
              assertTrue(ended.await(60, TimeUnit.SECONDS));
              assertFalse(socket.isClosed(), "it still does not read");
            }
          });
    }
  }

  /** Runs before each write. */
  @FunctionalInterface
  private interface BeforeWrite {
    void write() throws IOException;
  }

  /** A stream that is written in chunks. */
  private static final class Watched extends ServletOutputStream {
    private final ServletOutputStream output;
    private final BeforeWrite before;

    private Watched(ServletOutputStream output, BeforeWrite before) {
      this.output = output;
      this.before = before;
    }

    @Override
    public void write(int each) throws IOException {
      throw new IOException("not written in chunks");
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      before.write();
      output.write(bytes, offset, length);
    }

    @Override
    public void flush() throws IOException {
      output.flush();
    }

    @Override
    public boolean isReady() {
      return output.isReady();
    }

    @Override
    public void setWriteListener(WriteListener listener) {
      output.setWriteListener(listener);
    }
  }

  private static HttpServletResponse watched(ServletResponse response, BeforeWrite before)
      throws IOException {
    var stream = new Watched(response.getOutputStream(), before);
    return new HttpServletResponseWrapper((HttpServletResponse) response) {
      @Override
      public ServletOutputStream getOutputStream() {
        return stream;
      }
    };
  }

  /** Calls a tool, and reads the response to its end. */
  private static String answerOf(String url, String tool) {
    try (var socket = new Socket("127.0.0.1", URI.create(url).getPort())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(requestOf(tool, "\"progressToken\":1,"));
      return new String(socket.getInputStream().readAllBytes());
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  @Test
  void aTruncatedResponseDoesNotLookComplete() throws Exception {
    var written = new CountDownLatch(1);
    BeforeWrite failing =
        () -> {
          if (written.getCount() == 0) {
            throw new IOException("the disk is full");
          }
          written.countDown();
        };
    Filter filter =
        (request, response, chain) -> chain.doFilter(request, watched(response, failing));
    try (var server = new Server("mounted", "1")) {
      server.tool(
          "answers",
          "",
          (context, given) -> {
            context.progress(1);
            return written.await(20, TimeUnit.SECONDS) ? "all" : "nothing was written";
          });
      withFewThreads(
          server,
          filter,
          url -> {
            var response = answerOf(url, "answers");
            assertTrue(response.startsWith("HTTP/1.1 200"), response);
            assertTrue(response.contains("notifications/progress"), response);
            assertFalse(response.endsWith("\r\n0\r\n\r\n"), response);
          });
    }
  }

  /** Records what the servlet does with the context of a request. */
  private static final class Observed extends HttpServletRequestWrapper {
    private final CompletableFuture<AsyncListener> listener = new CompletableFuture<>();
    private final List<String> ends = Collections.synchronizedList(new ArrayList<>());

    /** Stands for the lock of a container. */
    private final Object lock = new Object();

    private Observed(HttpServletRequest request) {
      super(request);
    }

    @Override
    public AsyncContext startAsync(ServletRequest request, ServletResponse response) {
      var context = super.startAsync(request, response);
      InvocationHandler calls =
          (proxy, method, arguments) -> {
            if (method.getName().equals("addListener")) {
              listener.complete((AsyncListener) arguments[0]);
            } else if (Set.of("complete", "dispatch").contains(method.getName())) {
              ends.add(method.getName());
              synchronized (lock) {
                return method.invoke(context, arguments);
              }
            }
            return method.invoke(context, arguments);
          };
      var loader = MountTest.class.getClassLoader();
      return (AsyncContext)
          Proxy.newProxyInstance(loader, new Class<?>[] {AsyncContext.class}, calls);
    }
  }

  /** Containers reuse the objects of an ended request, for another client's. */
  @Test
  void aRequestThatItsContainerEndsIsLeftAlone() throws Exception {
    var observed = new CompletableFuture<Observed>();
    var writes = new Semaphore(0);
    var goesOn = new CountDownLatch(1);
    BeforeWrite slow =
        () -> {
          writes.release();
          try {
            goesOn.await();
          } catch (InterruptedException interrupt) {
            throw new InterruptedIOException();
          }
        };
    Filter filter =
        (request, response, chain) -> {
          var seen = new Observed((HttpServletRequest) request);
          observed.complete(seen);
          chain.doFilter(seen, watched(response, slow));
        };
    try (var server = flood(new CountDownLatch(1))) {
      withFewThreads(
          server,
          filter,
          url -> {
            var answer = CompletableFuture.supplyAsync(() -> answerOf(url, "floods"));
            assertTrue(writes.tryAcquire(30, TimeUnit.SECONDS));
            var request = observed.join();
            var ended =
                new FutureTask<>(
                    () -> {
                      request.listener.join().onComplete(null);
                      return true;
                    });
            new Thread(ended).start();
            assertThrows(TimeoutException.class, () -> ended.get(300, TimeUnit.MILLISECONDS));
            goesOn.countDown();
            assertTrue(ended.get(30, TimeUnit.SECONDS));
            // Writes before the listener had its turn are allowed.
            writes.drainPermits();
            assertFalse(writes.tryAcquire(300, TimeUnit.MILLISECONDS), "a write after the end");
            assertEquals(List.of(), request.ends);
            request.getAsyncContext().complete();
            answer.join();
          });
    }
  }

  @Test
  void aContainerThatEndsARequestMayHoldItsLock() throws Exception {
    var observed = new CompletableFuture<Observed>();
    var ends = new CountDownLatch(1);
    Filter filter =
        (request, response, chain) -> {
          var seen = new Observed((HttpServletRequest) request);
          observed.complete(seen);
          chain.doFilter(seen, response);
        };
    try (var server = new Server("mounted", "1")) {
      server.tool("waits", "", (context, given) -> ends.await(30, TimeUnit.SECONDS));
      withFewThreads(
          server,
          filter,
          url -> {
            var answer = CompletableFuture.supplyAsync(() -> answerOf(url, "waits"));
            var request = observed.get(30, TimeUnit.SECONDS);
            synchronized (request.lock) {
              ends.countDown();
              var until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
              while (request.ends.isEmpty()) {
                assertTrue(System.nanoTime() < until, "the response does not end");
                Thread.sleep(1);
              }
              var began = System.nanoTime();
              request.listener.join().onComplete(null);
              var took = Duration.ofNanos(System.nanoTime() - began);
              assertTrue(took.toSeconds() < 4, "the listener waits for the lock: " + took);
            }
            assertTrue(answer.get(30, TimeUnit.SECONDS).startsWith("HTTP/1.1 200"));
          });
    }
  }

  /** A connection that calls the tool, and does not read the response. */
  private static Socket flooded(String url) throws IOException {
    var socket = new Socket();
    socket.setReceiveBufferSize(4096);
    socket.connect(new InetSocketAddress("127.0.0.1", URI.create(url).getPort()));
    socket.getOutputStream().write(requestOf("floods", "\"progressToken\":1,"));
    return socket;
  }

  /** A call of a tool as 2026-07-28 has it. */
  private static byte[] requestOf(String tool, String meta) {
    var body =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\""
            + tool
            + "\",\"arguments\":{},\"_meta\":{"
            + meta
            + "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            + "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"raw\",\"version\":\"1\"},"
            + "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    var head =
        "POST /mcp/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            + "Mcp-Method: tools/call\r\nMcp-Name: "
            + tool
            + "\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n";
    return (head + body).getBytes(StandardCharsets.US_ASCII);
  }

  @Test
  void theServerOfTheJdkServesAnEndpoint() throws Exception {
    try (var server = echo(new CountDownLatch(1), new CountDownLatch(1));
        var endpoint = server.endpoint(options -> {})) {
      var web = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      var threads = Executors.newCachedThreadPool();
      web.setExecutor(threads);
      web.createContext("/", endpoint.toHandler());
      web.start();
      try (var client = Client.connect("http://127.0.0.1:" + web.getAddress().getPort())) {
        assertEquals("a", client.callTool("echo", new CallsTest.Name("a"), String.class));
      } finally {
        web.stop(0);
        threads.shutdownNow();
      }
      assertThrows(
          InvalidArgumentException.class, () -> server.endpoint(options -> options.port(1)));
    }
  }

  @Test
  void aVerifierKnowsTheCaller() {
    try (var server = new Server("guarded", "1")) {
      server.tool("who", "", (context, given) -> context.auth().subject());
      try (var listener =
          server.listen(
              options ->
                  options
                      .port(0)
                      .auth(
                          auth ->
                              auth.resource("http://127.0.0.1/mcp")
                                  .authorizationServers(List.of("https://login.example.com"))
                                  .verifier(MountTest::identityOf)))) {
        try (var client =
            Client.connect(listener.url(), options -> options.auth(auth -> auth.token("good")))) {
          assertEquals("Ada", client.callTool("who", null, String.class));
        }
        var error =
            assertThrows(
                AuthorizationRequiredException.class,
                () ->
                    Client.connect(
                            listener.url(), options -> options.auth(auth -> auth.token("bad")))
                        .listTools());
        assertEquals(401, error.httpStatus());
      }
    }
  }

  private static Identity identityOf(TokenVerificationRequest request) {
    assertEquals("POST", request.method());
    assertTrue(request.headers().containsKey("authorization"));
    return request.token().equals("good") ? new Identity().withSubject("Ada") : null;
  }
}

package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Servers in web servers, and clients and filters that are difficult: tests/mounts.json. */
class MountsTest {
  private static final String PATH = "/api/v1/mcp";

  /** More than the buffers of sockets hold. */
  private static final int LARGE_BYTES = 8_000_000;

  /** Far above what a slow machine needs. */
  private static final int TIMEOUT_SECONDS = 30;

  private static final Map<String, String> BOTH =
      Map.of("accept", "application/json, text/event-stream", "content-type", "application/json");

  record Row(
      String name,
      String play,
      String tool,
      Map<String, Object> options,
      Map<String, Object> seen,
      @Nullable Map<String, String> lacks) {}

  record Text(String text) {}

  private static final Row[] TABLE = Json.read(table(), Row[].class);

  private static @Nullable Object table() {
    try {
      return Json.parse(Files.readString(Path.of("../../tests/mounts.json")));
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** Plays a client with a new site, and returns what the client sees. */
  @FunctionalInterface
  private interface Play {
    Map<String, Object> play(Site site, Row row) throws Exception;
  }

  private static final Map<String, Play> PLAYS =
      Map.ofEntries(
          Map.entry("stuck reader", MountsTest::stuckReader),
          Map.entry("stuck reader over HTTP/2", MountsTest::stuckReaderOverHttp2),
          Map.entry("slow reader", MountsTest::slowReader),
          Map.entry("slow body", MountsTest::slowBody),
          Map.entry("body beyond the limit", MountsTest::bodyBeyondTheLimit),
          Map.entry("body that never comes", MountsTest::bodyThatNeverComes),
          Map.entry("gone within its body", MountsTest::goneWithinItsBody),
          Map.entry("gone", MountsTest::gone),
          Map.entry("legacy client gone", MountsTest::legacyClientGone),
          Map.entry("deadline", MountsTest::deadline),
          Map.entry("shutdown", MountsTest::shutdown),
          Map.entry("compression", MountsTest::compression),
          Map.entry("prefix", MountsTest::prefix),
          Map.entry("HTTP/2", MountsTest::http2));

  /** The rows are played at the same time: most of them wait. */
  @TestFactory
  Stream<DynamicTest> aServerInAWebServer() {
    var threads =
        Executors.newFixedThreadPool(
            4,
            task -> {
              var thread = new Thread(task);
              thread.setDaemon(true);
              return thread;
            });
    var tests = new ArrayList<DynamicTest>();
    for (var web : MountingWebServer.values()) {
      for (var row : TABLE) {
        var reason = row.lacks() == null ? null : row.lacks().get(web.title);
        var played = threads.submit(() -> reason == null ? play(web, row) : null);
        var name = web.title + ": " + row.name();
        tests.add(
            DynamicTest.dynamicTest(
                name,
                () -> {
                  assumeTrue(reason == null, reason);
                  assertEquals(row.seen(), played.get());
                }));
      }
    }
    return tests.stream();
  }

  private static Map<String, Object> play(MountingWebServer web, Row row) throws Exception {
    try (var site = new Site(web, row)) {
      return PLAYS.get(row.play()).play(site, row);
    }
  }

  /** A mounted server. */
  static final class Site implements AutoCloseable {
    final CountDownLatch started = new CountDownLatch(1);
    final CountDownLatch released = new CountDownLatch(1);
    final CountDownLatch cancelled = new CountDownLatch(1);

    /** The requests that reach the web server, and those that it has handled. */
    final LinkedBlockingQueue<String> begun = new LinkedBlockingQueue<>();

    final LinkedBlockingQueue<String> ended = new LinkedBlockingQueue<>();
    final Row row;
    final HttpEndpoint endpoint;
    private final Server server;
    private final MountingWebServer.Running web;
    private final HttpClient http =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    Site(MountingWebServer web, Row row) throws Exception {
      this.row = row;
      // A client that has disconnected is noticed at the next write.
      server = new Server("mounted", "1", options -> options.keepAlive(Duration.ofMillis(200)));
      server.tool("waits", "", (context, given) -> waits(context));
      server.tool(
          "large",
          "",
          (context, given) -> {
            context.progress(1);
            return "x".repeat(LARGE_BYTES);
          });
      server.tool(
          "fills",
          "",
          (context, given) -> {
            context.progress(1, 2.0, "x".repeat(LARGE_BYTES));
            return waits(context);
          });
      server.tool("echo", "", Text.class, (context, given) -> given.text());
      endpoint =
          server.endpoint(
              options -> {
                if (row.options().get("json") instanceof Boolean json) {
                  options.json(json);
                }
                if (row.options().get("writeTimeoutMs") instanceof Number time) {
                  options.writeTimeout(Duration.ofMillis(time.longValue()));
                }
              });
      this.web = web.start(this);
    }

    private String waits(Context context) {
      context.progress(1);
      started.countDown();
      try {
        released.await();
        return "released";
      } catch (InterruptedException interrupt) {
        cancelled.countDown();
        return "cancelled";
      }
    }

    @Override
    public void close() {
      released.countDown();
      endpoint.close(Duration.ZERO);
      server.close();
      web.close();
    }

    static void happened(CountDownLatch event) throws InterruptedException {
      assertTrue(event.await(TIMEOUT_SECONDS, TimeUnit.SECONDS), "it is late");
    }

    static void next(LinkedBlockingQueue<String> requests) throws InterruptedException {
      assertNotNull(requests.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS), "it is late");
    }

    HttpRequest.Builder request(String path, Map<String, String> headers) {
      var request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + web.port() + path))
              .timeout(Duration.ofSeconds(TIMEOUT_SECONDS));
      headers.forEach(request::header);
      return request;
    }

    HttpRequest posting(String tool, String path) {
      var body = BodyPublishers.ofString(message(tool, false));
      return request(path, headers(tool)).POST(body).build();
    }

    HttpResponse<String> post(HttpClient client, String tool, String path) throws Exception {
      return client.send(posting(tool, path), BodyHandlers.ofString());
    }

    HttpResponse<String> post(String tool) throws Exception {
      return post(http, tool, PATH);
    }

    HttpResponse<String> send(Map<String, String> headers, String body) throws Exception {
      var request = request(PATH, headers).POST(BodyPublishers.ofString(body)).build();
      return http.send(request, BodyHandlers.ofString());
    }

    String others(HttpClient client) throws Exception {
      var response = post(client, "echo", PATH);
      var isServed = response.statusCode() == 200 && response.body().contains("echoed");
      return isServed ? "served" : response.statusCode() + " " + response.body();
    }

    /** Asks on a new connection: the server may just be closing one that was used. */
    String others() throws Exception {
      return others(HttpClient.newBuilder().version(http.version()).build());
    }

    /** A connection on which a call was sent, or only the start of its body. */
    Socket raw(Map<String, String> headers, String body, int length) throws IOException {
      var socket = new Socket();
      // A large buffer takes long until it has room again.
      socket.setReceiveBufferSize(256 << 10);
      socket.setSoTimeout(TIMEOUT_SECONDS * 1000);
      socket.connect(new InetSocketAddress("127.0.0.1", web.port()));
      var head = new StringBuilder("POST " + PATH + " HTTP/1.1\r\n");
      head.append("content-length: ").append(length).append("\r\nconnection: close\r\n");
      var lines = new HashMap<>(Map.of("host", "127.0.0.1"));
      lines.putAll(headers);
      lines.forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
      var bytes = (head + "\r\n" + body).getBytes(StandardCharsets.US_ASCII);
      socket.getOutputStream().write(bytes);
      return socket;
    }

    Socket raw(String tool) throws IOException {
      var body = message(tool, false);
      return raw(headers(tool), body, body.length());
    }

    Map<String, String> session() throws Exception {
      var params =
          Json.object(
              "protocolVersion",
              "2025-11-25",
              "capabilities",
              Map.of(),
              "clientInfo",
              Map.of("name", "legacy", "version", "1"));
      var opened = send(BOTH, rpc("initialize", params, 1));
      next(begun);
      next(ended);
      var id = opened.headers().firstValue("mcp-session-id").orElseThrow();
      var headers = new HashMap<>(BOTH);
      headers.putAll(Map.of("mcp-session-id", id, "mcp-protocol-version", "2025-11-25"));
      return headers;
    }

    /** A client that has spoken HTTP/2 before. Its windows are smaller than a large response. */
    HttpClient http2() throws Exception {
      System.setProperty("jdk.httpclient.windowsize", "65536");
      var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      // The first request offers the upgrade.
      for (var version : List.of(HttpClient.Version.HTTP_2, HttpClient.Version.HTTP_2)) {
        var request = request(PATH, Map.of()).build();
        assertEquals(version, client.send(request, BodyHandlers.discarding()).version());
        next(begun);
        next(ended);
      }
      return client;
    }

    CompletableFuture<Void> closing() {
      return CompletableFuture.runAsync(() -> endpoint.close(Duration.ofMinutes(10)));
    }
  }

  private static Map<String, Object> seen(@Nullable Object... members) {
    var seen = new LinkedHashMap<String, Object>();
    for (var index = 0; index < members.length; index += 2) {
      // As the table is read.
      var value =
          members[index + 1] instanceof Integer number
              ? (Object) (long) number
              : members[index + 1];
      seen.put((String) members[index], value);
    }
    return seen;
  }

  private static Map<String, String> headers(String tool) {
    var headers = new HashMap<>(BOTH);
    headers.put("mcp-protocol-version", "2026-07-28");
    headers.put("mcp-method", "tools/call");
    headers.put("mcp-name", tool);
    return headers;
  }

  private static String rpc(String method, Map<String, Object> params, @Nullable Integer id) {
    return Json.write(Json.object("jsonrpc", "2.0", "id", id, "method", method, "params", params));
  }

  /** A call of 2026-07-28, or in a session. */
  private static String message(String tool, boolean isLegacy) {
    var meta = Json.object("progressToken", 1);
    if (!isLegacy) {
      var prefix = "io.modelcontextprotocol/";
      meta.put(prefix + "protocolVersion", "2026-07-28");
      meta.put(prefix + "clientCapabilities", Map.of());
      meta.put(prefix + "clientInfo", Map.of("name", "difficult", "version", "1"));
    }
    var arguments = tool.equals("echo") ? Map.of("text", "echoed") : Map.of();
    var params = Json.object("name", tool, "arguments", arguments, "_meta", meta);
    return rpc("tools/call", params, 2);
  }

  private static String outcome(String text, String wanted, String name) {
    return text.contains(wanted) ? name : text;
  }

  private static String readAll(InputStream stream) {
    var read = new StringBuilder();
    var buffer = new byte[65_536];
    try {
      for (var more = stream.read(buffer); more >= 0; more = stream.read(buffer)) {
        read.append(new String(buffer, 0, more, StandardCharsets.ISO_8859_1));
      }
    } catch (IOException reset) {
      // The connection was reset.
    }
    return read.toString();
  }

  private static @Nullable String header(HttpResponse<?> response, String name) {
    return response.headers().firstValue(name).orElse(null);
  }

  private static Map<String, Object> stuckReader(Site site, Row row) throws Exception {
    try (var stuck = site.raw(row.tool())) {
      Site.next(site.ended);
      var others = site.others();
      var cut = readAll(stuck.getInputStream());
      var start = cut.substring(0, Math.min(cut.length(), 100));
      assertTrue(
          start.startsWith("HTTP/1.1 200") && cut.length() < LARGE_BYTES, cut.length() + start);
      var seen = seen("response", "given up", "others", others);
      if (row.tool().equals("fills")) {
        Site.happened(site.cancelled);
        seen.put("call", "cancelled");
      }
      return seen;
    }
  }

  private static Map<String, Object> stuckReaderOverHttp2(Site site, Row row) throws Exception {
    var client = site.http2();
    var stuck = client.send(site.posting(row.tool(), PATH), BodyHandlers.ofInputStream());
    Site.next(site.ended);
    var others = site.others(client);
    try (var body = stuck.body()) {
      assertThrows(IOException.class, body::readAllBytes);
    }
    return seen("response", "given up", "others", others);
  }

  private static Map<String, Object> slowReader(Site site, Row row) throws Exception {
    try (var slow = site.raw(row.tool())) {
      var read = 0;
      var last = "";
      var buffer = new byte[65_536];
      while (true) {
        var more = slow.getInputStream().readNBytes(buffer, 0, buffer.length);
        if (more == 0) {
          break;
        }
        read += more;
        last +=
            new String(
                buffer, Math.max(0, more - 5), Math.min(5, more), StandardCharsets.ISO_8859_1);
        Thread.sleep(40);
      }
      // Jetty sends no chunks to a client that wants the connection to end.
      var isComplete = read > LARGE_BYTES && (last.endsWith("0\r\n\r\n") || last.endsWith("\n\n"));
      return seen("response", isComplete ? "complete" : "cut after " + read + " bytes");
    }
  }

  private static Map<String, Object> slowBody(Site site, Row row) throws Exception {
    var body = message(row.tool(), false);
    try (var slow = site.raw(headers(row.tool()), body.substring(0, 20), body.length())) {
      Site.next(site.begun);
      var others = site.others();
      slow.getOutputStream().write(body.substring(20).getBytes(StandardCharsets.US_ASCII));
      var text = readAll(slow.getInputStream());
      return seen("response", outcome(text, "echoed", "complete"), "others", others);
    }
  }

  private static Map<String, Object> bodyBeyondTheLimit(Site site, Row row) throws Exception {
    var large = site.raw(headers(row.tool()), "", 2 * LARGE_BYTES);
    var output = large.getOutputStream();
    var writing =
        CompletableFuture.runAsync(
            () -> {
              try {
                output.write(" ".repeat(LARGE_BYTES).getBytes(StandardCharsets.US_ASCII));
              } catch (IOException closed) {
                // The rest is not read.
              }
            });
    var head = new String(large.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
    large.close();
    writing.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    var status = Integer.parseInt(head.split(" ")[1]);
    return seen("status", status, "started", site.started.getCount() == 0);
  }

  private static Map<String, Object> bodyThatNeverComes(Site site, Row row) throws Exception {
    var headers = headers(row.tool());
    headers.put("host", "evil.example");
    var waiting = site.raw(headers, "", 10);
    Site.next(site.begun);
    var head = new String(waiting.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
    // A closing server would wait for open requests.
    site.closing().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    // A container may read until its own timeout.
    waiting.close();
    Site.next(site.ended);
    var status = Integer.parseInt(head.split(" ")[1]);
    return seen("status", status, "open", site.begun.size());
  }

  private static Map<String, Object> goneWithinItsBody(Site site, Row row) throws Exception {
    var body = message(row.tool(), false);
    var leaving = site.raw(headers(row.tool()), body.substring(0, 20), body.length());
    Site.next(site.begun);
    leaving.close();
    Site.next(site.ended);
    // A closing server would wait for open requests.
    site.closing().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    return seen("started", site.started.getCount() == 0, "open", site.begun.size());
  }

  /** HTTP-24. */
  private static Map<String, Object> gone(Site site, Row row) throws Exception {
    var leaving = site.raw(row.tool());
    Site.happened(site.started);
    leaving.close();
    Site.happened(site.cancelled);
    return seen("call", "cancelled");
  }

  /** HTTP-22. */
  private static Map<String, Object> legacyClientGone(Site site, Row row) throws Exception {
    var session = site.session();
    var body = message(row.tool(), true);
    var leaving = site.raw(session, body, body.length());
    Site.happened(site.started);
    leaving.close();
    Site.next(site.ended);
    assertEquals("served", site.others());
    assertEquals(1, site.cancelled.getCount());
    var told = rpc("notifications/cancelled", Json.object("requestId", 2), null);
    assertEquals(202, site.send(session, told).statusCode());
    Site.happened(site.cancelled);
    return seen("call", "cancelled by its message");
  }

  private static Map<String, Object> deadline(Site site, Row row) throws Exception {
    var status = site.post(row.tool()).statusCode();
    Site.happened(site.cancelled);
    return seen("status", status, "call", "cancelled", "others", site.others());
  }

  private static Map<String, Object> shutdown(Site site, Row row) throws Exception {
    var session = site.session();
    var stream = site.http.send(site.request(PATH, session).build(), BodyHandlers.ofInputStream());
    var called = site.http.sendAsync(site.posting(row.tool(), PATH), BodyHandlers.ofString());
    Site.happened(site.started);
    var closing = site.closing();
    // The stream ends while the call still runs.
    stream.body().readAllBytes();
    var meanwhile = site.post("echo");
    site.released.countDown();
    var text = called.get(TIMEOUT_SECONDS, TimeUnit.SECONDS).body();
    closing.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    return seen(
        "stream",
        "ended",
        "call",
        outcome(text, "released", "complete"),
        "meanwhile",
        meanwhile.statusCode(),
        "connection",
        header(meanwhile, "connection"));
  }

  private static Map<String, Object> compression(Site site, Row row) throws Exception {
    var headers = headers(row.tool());
    headers.put("accept-encoding", "gzip");
    var body = BodyPublishers.ofString(message(row.tool(), false));
    var request = site.request(PATH, headers).POST(body).build();
    var response = site.http.send(request, BodyHandlers.ofInputStream());
    var events = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
    Optional<String> first = Optional.empty();
    while (first.isEmpty()) {
      first = Optional.of(events.readLine()).filter(line -> line.startsWith("data:"));
    }
    site.released.countDown();
    var rest = new StringBuilder();
    events.lines().forEach(rest::append);
    return seen(
        "events",
        outcome(first.get(), "notifications/progress", "at once"),
        "call",
        outcome(rest.toString(), "released", "complete"),
        "cacheControl",
        header(response, "cache-control"));
  }

  private static Map<String, Object> prefix(Site site, Row row) throws Exception {
    var seen = seen();
    for (var path : row.seen().keySet()) {
      seen.put(path, (long) site.post(site.http, row.tool(), path).statusCode());
    }
    return seen;
  }

  private static Map<String, Object> http2(Site site, Row row) throws Exception {
    var client = site.http2();
    var status = site.post(client, "echo", PATH).statusCode();
    var leaving = client.send(site.posting(row.tool(), PATH), BodyHandlers.ofInputStream());
    Site.happened(site.started);
    // Resets the stream.
    leaving.body().close();
    Site.happened(site.cancelled);
    var running = client.send(site.posting(row.tool(), PATH), BodyHandlers.ofInputStream());
    assertEquals(200, running.statusCode());
    var closing = site.closing();
    var meanwhile = site.post(client, "echo", PATH);
    while (meanwhile.statusCode() == 200) {
      meanwhile = site.post(client, "echo", PATH);
    }
    site.released.countDown();
    running.body().readAllBytes();
    closing.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    assertFalse(running.headers().map().isEmpty());
    return seen(
        "status",
        status,
        "call",
        "cancelled",
        "meanwhile",
        meanwhile.statusCode(),
        "connection",
        header(meanwhile, "connection"));
  }
}

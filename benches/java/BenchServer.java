package bench.java;

import dev.trunkline.java.AuthOptions;
import dev.trunkline.java.Context;
import dev.trunkline.java.Json;
import dev.trunkline.java.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The bench server in Java: server stdio | http PORT [json] [stateless] [features] [--tools N]
 * [--store URL] [--auth FILE]
 */
final class BenchServer {
  private BenchServer() {}

  record Message(String message) {}

  record Numbers(long a, long b) {}

  record Answer(String value) {}

  public static void main(String[] arguments) throws IOException {
    var words = Arrays.asList(arguments);
    var store = valueOf(words, "--store");
    var server =
        new Server(
            "bench",
            "0.0.0",
            options -> {
              // Messages of `grow-bytes` are longer than the default allows.
              options.maxMessageBytes(128L << 20);
              if (store != null) {
                options.store(store);
              }
            });
    server.tool(
        "echo", "Echo the message back", Message.class, (context, given) -> given.message());
    server.tool("add", "Add two integers", Numbers.class, BenchServer::add);
    var tools = valueOf(words, "--tools");
    for (var i = 0; i < (tools == null ? 0 : Integer.parseInt(tools)); i++) {
      server.tool(
          String.format("tool_%03d", i),
          "Generated tool number " + i,
          Numbers.class,
          BenchServer::add);
    }
    if (words.contains("features")) {
      addFeatures(server);
    }
    if (words.get(0).equals("stdio")) {
      server.serveStdio();
      return;
    }
    var auth = authFrom(valueOf(words, "--auth"));
    server.serveHttp(
        options -> {
          options.port(Integer.parseInt(words.get(1)));
          options.json(words.contains("json")).stateless(words.contains("stateless"));
          if (auth != null) {
            options.auth(given -> configure(given, auth));
          }
        });
  }

  private static String add(Context context, Numbers given) {
    return String.valueOf(given.a() + given.b());
  }

  private static void addFeatures(Server server) {
    server.tool(
        "report",
        "Report progress, then echo the message back",
        Message.class,
        (context, given) -> {
          for (var number = 1; number <= 20; number++) {
            context.progress(number, 20.0, null);
          }
          return given.message();
        });
    server.tool(
        "ask",
        "Ask the user",
        Message.class,
        (context, given) -> {
          var answer = context.elicit(given.message(), Answer.class).content();
          return answer == null ? "no answer" : answer.value();
        });
    var properties = new LinkedHashMap<String, Object>();
    for (var i = 0; i < 100; i++) {
      properties.put(String.format("f%02d", i), Map.of("type", "integer"));
    }
    Map<String, Object> wide =
        Map.of(
            "type",
            "object",
            "properties",
            properties,
            "required",
            List.copyOf(properties.keySet()));
    server.tool(
        "wide",
        "Add 100 integers",
        wide,
        options -> {},
        (context, given) ->
            String.valueOf(
                given.values().stream().mapToLong(value -> ((Number) value).longValue()).sum()));
  }

  /** The access tokens from a file (tests/matrix/authorization.json). */
  private static @Nullable AuthSettings authFrom(@Nullable String file) throws IOException {
    if (file == null) {
      return null;
    }
    var given = Json.parseObject(Files.readString(Path.of(file)));
    return Json.read(given.get("auth"), AuthSettings.class);
  }

  record AuthSettings(String resource, String issuer, Map<String, Object> jwks) {}

  private static void configure(AuthOptions auth, AuthSettings given) {
    auth.resource(given.resource()).issuer(List.of(given.issuer())).jwks(given.jwks());
  }

  private static @Nullable String valueOf(List<String> words, String option) {
    var at = words.indexOf(option);
    return at < 0 ? null : words.get(at + 1);
  }
}

package dev.trunkline.java;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A server that answers {@code initialize}, and other methods with texts. */
final class Scripted implements Transport {
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final Map<String, String> results = new HashMap<>();

  Scripted(Map<String, String> results) {
    this.results.put(
        "initialize",
        """
        {"protocolVersion":"2025-11-25","serverInfo":{"name":"odd","version":"1"},\
        "capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}\
        """);
    this.results.putAll(results);
  }

  @Override
  public void connect() {}

  @Override
  public void send(String message) {
    var request = Json.parseObject(message);
    if (request.containsKey("id")) {
      var result = results.get(request.get("method"));
      answers.add(
          "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}".formatted(request.get("id"), result));
    }
  }

  @Override
  public String receive() throws InterruptedException {
    return answers.take();
  }

  @Override
  public void close() {}

  /** The text of a table of {@code tests}. */
  static String table(String name) {
    try {
      return Files.readString(Path.of("../../tests", name));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}

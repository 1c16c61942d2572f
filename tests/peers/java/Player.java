package peer.java;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/** Plays the operations of a connection (../../vectors/README.md, "Vectors for clients"). */
final class Player {
  /** A response or a notification may take this long. */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** A server takes long to start on a busy machine. */
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(40);

  private static final McpJsonMapper MAPPER = McpJsonDefaults.getMapper();

  private final Map<String, Object> part;
  private final List<String> target;
  private final BlockingQueue<Double> progress = new LinkedBlockingQueue<>();
  private final BlockingQueue<LoggingMessageNotification> logged = new LinkedBlockingQueue<>();
  private final BlockingQueue<Map<String, Object>> changes = new LinkedBlockingQueue<>();
  private McpAsyncClient client;

  private Player(Map<String, Object> part, List<String> target) {
    this.part = part;
    this.target = target;
  }

  static void playFile(String file, List<String> target) throws IOException {
    var given = MAPPER.readValue(Files.readString(Path.of(file)), Map.class);
    for (var part : listOf(given.get("plays"))) {
      new Player(part, targetOf(part, target)).play();
    }
    System.exit(0); // does not wait for what the SDK leaves running
  }

  @SuppressWarnings("unchecked")
  private static List<String> targetOf(Map<String, Object> part, List<String> otherwise) {
    return (List<String>) part.getOrDefault("target", otherwise);
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> listOf(Object value) {
    return (List<Map<String, Object>>) value;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> mapOf(Object value) {
    return value == null ? Map.of() : (Map<String, Object>) value;
  }

  private void play() {
    var connected =
        timed(
            () -> {
              connect();
              return Map.of("connected", client.getCurrentInitializationResult().protocolVersion());
            });
    if (connected) {
      for (var operation : listOf(part.get("do"))) {
        operation.forEach((name, given) -> timed(() -> perform(name, mapOf(given))));
      }
    }
    client.closeGracefully().onErrorComplete().block(TIMEOUT);
  }

  /** Prints a line with what was done, and returns whether it succeeded. */
  private static boolean timed(Callable<Map<String, Object>> work) {
    var start = System.nanoTime();
    var line = new LinkedHashMap<String, Object>();
    try {
      line.putAll(work.call());
    } catch (Exception failure) {
      line.put("error", kindOf(failure));
      line.put("message", String.valueOf(failure.getMessage()));
    }
    line.put("ms", Math.round((System.nanoTime() - start) / 100_000.0) / 10.0);
    try {
      System.out.println(MAPPER.writeValueAsString(line));
    } catch (IOException failure) {
      throw new IllegalStateException(failure);
    }
    return !line.containsKey("error");
  }

  private static String kindOf(Throwable failure) {
    for (var cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof TimeoutException) {
        return "timeout";
      } else if (cause instanceof CancellationException) {
        return "cancelled";
      } else if (cause instanceof McpError) {
        return "protocol";
      }
    }
    return "other";
  }

  private void connect() {
    var token = (String) part.get("token");
    var transport = Transports.of(target, (String) part.get("revision"), token);
    var capabilities =
        McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build();
    var answer = McpSchema.CreateMessageResult.builder(Role.ASSISTANT, "Fine.", "fixture").build();
    client =
        McpClient.async(transport)
            .clientInfo(McpSchema.Implementation.builder("peer-java", "1.0.0").build())
            .capabilities(capabilities)
            .requestTimeout(CONNECT_TIMEOUT)
            .initializationTimeout(CONNECT_TIMEOUT)
            .roots(McpSchema.Root.builder("file:///work").build())
            .sampling(request -> Mono.just(answer))
            .elicitation(
                request -> Mono.just(new ElicitResult(ElicitResult.Action.ACCEPT, Map.of())))
            .toolsChangeConsumer(tools -> changed("tools", null))
            .promptsChangeConsumer(prompts -> changed("prompts", null))
            .resourcesChangeConsumer(resources -> changed("resourceList", null))
            .resourcesUpdateConsumer(contents -> changed("resource", contents.get(0).uri()))
            .loggingConsumer(message -> Mono.fromRunnable(() -> logged.add(message)))
            .progressConsumer(message -> Mono.fromRunnable(() -> progress.add(message.progress())))
            .build();
    client.initialize().block();
    if (client.getServerCapabilities().logging() != null && part.get("logLevel") != null) {
      var level = LoggingLevel.valueOf(part.get("logLevel").toString().toUpperCase(Locale.ROOT));
      client.setLoggingLevel(level).block();
    }
  }

  private Mono<Void> changed(String kind, String uri) {
    var change = new LinkedHashMap<String, Object>();
    change.put("change", kind);
    change.put("uri", uri);
    return Mono.fromRunnable(() -> changes.add(change));
  }

  private Map<String, Object> perform(String name, Map<String, Object> given) throws Exception {
    return switch (name) {
      case "ping" -> {
        client.ping().block();
        yield Map.of("ping", true);
      }
      case "callTool" -> callTool(given);
      case "listTools" -> listTools(Boolean.TRUE.equals(given.get("page")));
      case "listResources" ->
          names(
              "resources",
              client.listResources().block().resources().stream().map(McpSchema.Resource::uri));
      case "listResourceTemplates" ->
          names(
              "resourceTemplates",
              client.listResourceTemplates().block().resourceTemplates().stream()
                  .map(McpSchema.ResourceTemplate::uriTemplate));
      case "listPrompts" ->
          names(
              "prompts",
              client.listPrompts().block().prompts().stream().map(McpSchema.Prompt::name));
      case "readResource" -> read((String) given.get("uri"));
      case "getPrompt" -> prompt(given);
      case "complete" -> complete(given);
      case "subscribe" -> subscribe(mapOf(given.get("to")), (String) given.get("call"));
      case "log" -> log((String) given.get("call"));
      default -> throw new UnsupportedOperationException("the SDK has no operation " + name);
    };
  }

  private static Map<String, Object> names(String member, Stream<String> names) {
    return Map.of(member, names.toList());
  }

  private Map<String, Object> listTools(boolean page) {
    if (page) {
      return Map.of("more", client.listTools(McpSchema.FIRST_PAGE).block().nextCursor() != null);
    }
    return names("tools", client.listTools().block().tools().stream().map(McpSchema.Tool::name));
  }

  private Map<String, Object> callTool(Map<String, Object> given) throws Exception {
    var wantsProgress = Boolean.TRUE.equals(given.get("progress"));
    var request =
        CallToolRequest.builder((String) given.get("name"))
            .arguments(mapOf(given.get("arguments")));
    if (wantsProgress) {
      request.progressToken("progress of " + given.get("name"));
    }
    var limit =
        given.get("timeoutMs") instanceof Number ms ? Duration.ofMillis(ms.longValue()) : TIMEOUT;
    var future = client.callTool(request.build()).timeout(limit).toFuture();
    if (given.get("cancelMs") instanceof Number ms) {
      CompletableFuture.delayedExecutor(ms.longValue(), TimeUnit.MILLISECONDS)
          .execute(() -> future.cancel(true));
    }
    var result = future.get();
    var line = new LinkedHashMap<String, Object>(mapOf(MAPPER.convertValue(result, Map.class)));
    line.put("text", result.content().get(0) instanceof TextContent block ? block.text() : null);
    line.put("isError", Boolean.TRUE.equals(result.isError()));
    line.put("structured", result.structuredContent());
    line.put("progress", wantsProgress ? lastProgress() : null);
    return line;
  }

  /** Waits for the end, because notifications are handled beside the call. */
  private double lastProgress() throws Exception {
    double latest = 0;
    while (latest < 100) {
      latest = next(progress, reported -> true);
    }
    return latest;
  }

  private static <T> T next(BlockingQueue<T> queue, Predicate<T> fits) throws Exception {
    var until = System.nanoTime() + TIMEOUT.toNanos();
    while (true) {
      var found = queue.poll(until - System.nanoTime(), TimeUnit.NANOSECONDS);
      if (found == null) {
        throw new IllegalStateException("no notification within " + TIMEOUT.toSeconds() + " s");
      }
      if (fits.test(found)) {
        return found;
      }
    }
  }

  private Map<String, Object> read(String uri) {
    var result = client.readResource(McpSchema.ReadResourceRequest.builder(uri).build()).block();
    var contents =
        result.contents().stream()
            .map(
                one ->
                    one instanceof BlobResourceContents bytes
                        ? bytes.blob()
                        : ((TextResourceContents) one).text());
    return Map.of("contents", contents.toList());
  }

  private Map<String, Object> prompt(Map<String, Object> given) {
    var request =
        McpSchema.GetPromptRequest.builder((String) given.get("name"))
            .arguments(mapOf(given.get("arguments")))
            .build();
    var said = new ArrayList<String>();
    for (var message : client.getPrompt(request).block().messages()) {
      if (message.content() instanceof TextContent block) {
        said.add(block.text());
      }
    }
    return Map.of("messages", said);
  }

  private Map<String, Object> complete(Map<String, Object> given) {
    var reference = new McpSchema.PromptReference((String) mapOf(given.get("ref")).get("name"));
    var argument = mapOf(given.get("argument"));
    var request =
        McpSchema.CompleteRequest.builder(
                reference,
                new McpSchema.CompleteRequest.CompleteArgument(
                    (String) argument.get("name"), (String) argument.get("value")))
            .build();
    return Map.of("values", client.completeCompletion(request).block().completion().values());
  }

  /** Waits for a change that a tool causes. */
  private Map<String, Object> subscribe(Map<String, Object> to, String tool) throws Exception {
    var wanted = new ArrayList<String>(to.keySet());
    if (to.get("resources") instanceof List<?> uris) {
      wanted.add("resource");
      for (var uri : uris) {
        client.subscribeResource(McpSchema.SubscribeRequest.builder((String) uri).build()).block();
      }
    }
    client.callTool(CallToolRequest.builder(tool).arguments(Map.of()).build()).block();
    return next(changes, change -> wanted.contains(change.get("change")));
  }

  /** Calls a tool, and waits for its messages up to an error. */
  private Map<String, Object> log(String tool) throws Exception {
    client.callTool(CallToolRequest.builder(tool).arguments(Map.of()).build()).block();
    var said = new ArrayList<String>();
    next(
        logged,
        message -> {
          said.add(message.data());
          return message.level() == LoggingLevel.ERROR;
        });
    return Map.of("logged", said);
  }
}

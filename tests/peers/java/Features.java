package peer.java;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.AudioContent;
import io.modelcontextprotocol.spec.McpSchema.BlobResourceContents;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Content;
import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import io.modelcontextprotocol.spec.McpSchema.EmbeddedResource;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceResult;
import io.modelcontextprotocol.spec.McpSchema.ResourceContents;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The features of a server, registered in the way of the SDK. */
final class Features {
  private static final String PNG =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  private static final String WAV =
      "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA==";
  private static final String WATCHED = "test://watched-resource";

  private final McpServer.SyncSpecification<?> specification;

  /** Makes names unique, because clients that share the server may call at the same time. */
  private final AtomicLong number = new AtomicLong();

  private McpSyncServer server;

  private Features(McpServer.SyncSpecification<?> specification) {
    this.specification = specification;
  }

  static void offer(McpServer.SyncSpecification<?> specification) {
    var capabilities =
        McpSchema.ServerCapabilities.builder()
            .tools(true)
            .resources(true, true)
            .prompts(true)
            .logging()
            .completions();
    specification.serverInfo("peer-java", "1.0.0").capabilities(capabilities.build());
    var features = new Features(specification);
    features.addTools();
    features.addRunning();
    features.addAsking();
    features.addChanging();
    features.addResources();
    features.addPrompts();
    features.server = specification.build();
  }

  private interface Handler
      extends BiFunction<McpSyncServerExchange, CallToolRequest, CallToolResult> {}

  private static SyncToolSpecification tool(
      String name, Map<String, String> members, Handler handler) {
    Map<String, Object> properties =
        members.entrySet().stream()
            .collect(
                Collectors.toMap(Map.Entry::getKey, member -> Map.of("type", member.getValue())));
    Map<String, Object> schema = Map.of("type", "object", "properties", properties);
    return new SyncToolSpecification(Tool.builder(name, schema).description(name).build(), handler);
  }

  private void offer(String name, Map<String, String> members, Handler handler) {
    specification.tools(tool(name, members, handler));
  }

  private void offer(String name, Handler handler) {
    offer(name, Map.of(), handler);
  }

  private void block(String name, Content content) {
    offer(name, (exchange, call) -> CallToolResult.builder(List.of(content)).build());
  }

  private static CallToolResult text(String said) {
    return CallToolResult.builder().addTextContent(said).build();
  }

  private void addTools() {
    offer(
        "echo",
        Map.of("message", "string"),
        (exchange, call) -> text((String) call.arguments().get("message")));
    offer(
        "add_numbers",
        Map.of("a", "number", "b", "number"),
        (exchange, call) -> {
          var sum = number(call, "a") + number(call, "b");
          return text(sum == Math.rint(sum) ? String.valueOf((long) sum) : String.valueOf(sum));
        });
    block("test_image_content", ImageContent.builder(PNG, "image/png").build());
    block("test_audio_content", AudioContent.builder(WAV, "audio/wav").build());
    block(
        "test_embedded_resource",
        EmbeddedResource.builder(
                textOf("test://embedded-resource", "This is an embedded resource content."))
            .build());
    block(
        "test_resource_link",
        McpSchema.ResourceLink.builder().uri("test://static-text").name("static-text").build());
    Map<String, Object> output =
        Map.of(
            "type",
            "object",
            "properties",
            Map.of("city", Map.of("type", "string"), "temperature", Map.of("type", "number")));
    Map<String, Object> input =
        Map.of("type", "object", "properties", Map.of("city", Map.of("type", "string")));
    specification.toolCall(
        Tool.builder("structured", input).description("structured").outputSchema(output).build(),
        (exchange, call) ->
            CallToolResult.builder()
                .structuredContent(
                    Map.of("city", call.arguments().get("city"), "temperature", 21.5))
                .build());
    offer(
        "test_error_handling",
        (exchange, call) ->
            CallToolResult.builder()
                .addTextContent("This tool intentionally returns an error for testing")
                .isError(true)
                .build());
  }

  private static double number(CallToolRequest call, String name) {
    return ((Number) call.arguments().get(name)).doubleValue();
  }

  private void addRunning() {
    offer(
        "slow",
        Map.of("ms", "integer"),
        (exchange, call) -> {
          pause((long) number(call, "ms"));
          return text("done");
        });
    offer(
        "test_tool_with_progress",
        (exchange, call) -> {
          var token = call.meta() == null ? null : call.meta().get("progressToken");
          for (var done : new double[] {0, 50, 100}) {
            if (token != null) {
              exchange.progressNotification(
                  ProgressNotification.builder(token, done).total(100.0).build());
            }
            pause(50);
          }
          return text("done");
        });
    offer(
        "test_logging_tool",
        (exchange, call) -> {
          exchange.loggingNotification(log(LoggingLevel.INFO, "an information"));
          exchange.loggingNotification(log(LoggingLevel.ERROR, "an error"));
          return text("logged twice");
        });
    offer(
        "test_whoami",
        (exchange, call) -> text("caller: " + exchange.transportContext().get("caller")));
  }

  private static LoggingMessageNotification log(LoggingLevel level, String said) {
    return LoggingMessageNotification.builder(level, said).build();
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  private void addAsking() {
    Map<String, Object> form =
        Map.of(
            "type",
            "object",
            "properties",
            Map.of("name", Map.of("type", "string", "default", "John Doe")));
    offer(
        "test_elicitation_sep1034_defaults",
        (exchange, call) -> {
          var asked = ElicitFormRequest.builder("Please review the defaults", form).build();
          var action = exchange.createElicitation(asked).action();
          return text("action: " + action.name().toLowerCase(Locale.ROOT));
        });
    offer(
        "test_sampling",
        Map.of("prompt", "string"),
        (exchange, call) -> {
          var said = TextContent.builder((String) call.arguments().get("prompt")).build();
          var message = McpSchema.SamplingMessage.builder(Role.USER, said).build();
          var asked = McpSchema.CreateMessageRequest.builder(List.of(message), 100).build();
          return text(
              "LLM response: " + ((TextContent) exchange.createMessage(asked).content()).text());
        });
    offer(
        "test_roots",
        (exchange, call) -> {
          var roots = exchange.listRoots().roots().stream().map(McpSchema.Root::uri);
          return text("roots: " + roots.collect(Collectors.joining(", ")));
        });
  }

  private void addChanging() {
    changes(
        "test_trigger_tool_change",
        name -> server.addTool(tool(name, Map.of(), (exchange, call) -> text(""))),
        name -> server.removeTool(name));
    changes(
        "test_trigger_prompt_change",
        name -> server.addPrompt(prompt(name, List.of(), given -> "")),
        name -> server.removePrompt(name));
    changes(
        "test_trigger_resource_change",
        name -> server.addResource(resource(name, "text/plain", textOf("test://" + name, ""))),
        name -> server.removeResource("test://" + name));
    offer(
        "test_update_resource",
        (exchange, call) -> {
          server.notifyResourcesUpdated(new McpSchema.ResourcesUpdatedNotification(WATCHED));
          return text("changed");
        });
  }

  private void changes(String tool, Consumer<String> add, Consumer<String> remove) {
    offer(
        tool,
        (exchange, call) -> {
          var name = "added_" + number.incrementAndGet();
          add.accept(name);
          pause(20);
          remove.accept(name);
          return text("changed");
        });
  }

  private static TextResourceContents textOf(String uri, String said) {
    return TextResourceContents.builder(uri, said).mimeType("text/plain").build();
  }

  private static SyncResourceSpecification resource(
      String name, String type, ResourceContents contents) {
    var resource = McpSchema.Resource.builder(contents.uri(), name).mimeType(type).build();
    return new SyncResourceSpecification(resource, (exchange, request) -> read(contents));
  }

  private static ReadResourceResult read(ResourceContents contents) {
    return ReadResourceResult.builder(List.of(contents)).build();
  }

  private void addResources() {
    var said = "This is the content of the static text resource.";
    specification.resources(
        resource("static-text", "text/plain", textOf("test://static-text", said)),
        resource(
            "static-binary",
            "image/png",
            BlobResourceContents.builder("test://static-binary", PNG)
                .mimeType("image/png")
                .build()),
        resource("watched-resource", "text/plain", textOf(WATCHED, "Watched resource content")));
    var template =
        McpSchema.ResourceTemplate.builder("test://template/{id}/data", "template")
            .mimeType("application/json")
            .build();
    specification.resourceTemplates(
        new SyncResourceTemplateSpecification(
            template, (exchange, request) -> readTemplate(request)));
  }

  private static ReadResourceResult readTemplate(ReadResourceRequest request) {
    var id = request.uri().replaceAll("^test://template/|/data$", "");
    var json =
        "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}".formatted(id, id);
    return read(
        TextResourceContents.builder(request.uri(), json).mimeType("application/json").build());
  }

  private interface Saying {
    String say(Map<String, Object> given);
  }

  private static SyncPromptSpecification prompt(String name, List<String> names, Saying saying) {
    var arguments =
        names.stream()
            .map(argument -> McpSchema.PromptArgument.builder(argument).required(true).build());
    var prompt = McpSchema.Prompt.builder(name).arguments(arguments.toList()).build();
    return new SyncPromptSpecification(
        prompt,
        (exchange, request) -> {
          var said = TextContent.builder(saying.say(request.arguments())).build();
          var message = McpSchema.PromptMessage.builder(Role.USER, said).build();
          return McpSchema.GetPromptResult.builder(List.of(message)).build();
        });
  }

  private void addPrompts() {
    specification.prompts(
        prompt("test_simple_prompt", List.of(), given -> "This is a simple prompt for testing."),
        prompt(
            "test_prompt_with_arguments",
            List.of("arg1", "arg2"),
            given ->
                "Prompt with arguments: arg1='%s', arg2='%s'"
                    .formatted(given.get("arg1"), given.get("arg2"))));
    var reference = McpSchema.PromptReference.builder("test_prompt_with_arguments").build();
    specification.completions(
        new SyncCompletionSpecification(
            reference,
            (exchange, request) -> {
              var words =
                  Stream.of("paris", "park", "party")
                      .filter(word -> word.startsWith(request.argument().value()));
              var values = new McpSchema.CompleteResult.CompleteCompletion(words.toList());
              return new McpSchema.CompleteResult(values);
            }));
  }
}

// A tool that samples the client's model, and a client with a model.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.CreateMessageResult;
import dev.trunkline.java.model.Role;
import dev.trunkline.java.model.SampleRequest;
import dev.trunkline.java.model.SamplingMessage;
import dev.trunkline.java.model.TextContent;
import java.util.List;
import java.util.Map;

class Sampling {
  record Text(String text) {}

  static SamplingMessage asking(String text) {
    var content = new TextContent("Summarize in three words: " + text);
    return new SamplingMessage(Role.USER, List.of(content));
  }

  static CreateMessageResult sample(SampleRequest request) {
    // Here the host asks its model.
    System.out.println("at most " + request.maxTokens() + " tokens");
    var answer = List.of(new TextContent("Snow in Oslo"));
    return new CreateMessageResult(Role.ASSISTANT, List.copyOf(answer), "a-model");
  }

  @SuppressWarnings("deprecation")
  public static void main(String[] arguments) {
    try (var server = new Server("notes", "1.0.0")) {
      server.tool(
          "summarize",
          "Summarize a text.",
          Text.class,
          (context, given) -> {
            var answer = context.sample(List.of(asking(given.text())), 50);
            return ((TextContent) answer.content().get(0)).text();
          });

      try (var client =
          Client.connect(Target.server(server), options -> options.onSample(Sampling::sample))) {
        var text = "It has been snowing in Oslo since Monday.";
        System.out.println(client.callTool("summarize", Map.of("text", text)).text());
      }
    }
  }
}

// A prompt with arguments, one of them optional, and a client that gets it.
import dev.trunkline.java.Client;
import dev.trunkline.java.Content;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.PromptArgument;
import dev.trunkline.java.model.PromptMessage;
import dev.trunkline.java.model.Role;
import dev.trunkline.java.model.TextContent;
import java.util.List;
import java.util.Map;

class Prompts {
  static List<PromptMessage> review(Map<String, String> given) {
    var focus = given.getOrDefault("focus", "errors");
    var request = "Review this code, above all for " + focus + ": " + given.get("code");
    return List.of(
        new PromptMessage(Role.USER, Content.text(request)),
        new PromptMessage(Role.ASSISTANT, Content.text("I will list each finding with its line.")));
  }

  public static void main(String[] arguments) {
    try (var server = new Server("review", "1.0.0")) {
      var code =
          new PromptArgument("code").withDescription("The code to review").withRequired(true);
      server.prompt(
          "review",
          "Review code.",
          List.of(code, new PromptArgument("focus")),
          options -> {},
          (context, given) -> review(given));

      try (var client = Client.connect(Target.server(server))) {
        for (var prompt : client.listPrompts()) {
          var needed = prompt.arguments().stream().filter(PromptArgument::required).toList();
          System.out.println(
              prompt.name() + ": " + prompt.description() + " Needs " + needed.get(0).name() + ".");
        }
        for (var message : client.getPrompt("review", Map.of("code", "x = 1")).messages()) {
          var text = ((TextContent) message.content()).text();
          System.out.println(message.role() + ": " + text);
        }
      }
    }
  }
}

// Suggestions for a prompt argument while the user types.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.CompleteArgument;
import dev.trunkline.java.model.PromptArgument;
import dev.trunkline.java.model.PromptReference;
import java.util.List;
import java.util.stream.Stream;

class Completion {
  static List<String> cities(String start) {
    return Stream.of("Oslo", "Osaka", "Rome").filter(city -> city.startsWith(start)).toList();
  }

  public static void main(String[] arguments) {
    try (var server = new Server("trips", "1.0.0")) {
      server.prompt(
          "packing",
          "List the things to pack for a city.",
          List.of(new PromptArgument("city").withRequired(true)),
          options -> options.complete("city", (context, request) -> cities(request.value())),
          (context, given) -> "Write a packing list for " + given.get("city") + ".");

      try (var client = Client.connect(Target.server(server))) {
        var argument = new CompleteArgument("city", "Os");
        var result = client.complete(new PromptReference("packing"), argument);
        System.out.println(String.join(", ", result.completion().values()));
      }
    }
  }
}

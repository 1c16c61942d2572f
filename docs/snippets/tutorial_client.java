// Starts the server next to it and uses it. Given a URL, it connects there instead.
import dev.trunkline.java.Client;
import dev.trunkline.java.Target;
import dev.trunkline.java.TrunklineException;
import dev.trunkline.java.model.TextResourceContents;
import dev.trunkline.java.model.Tool;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

class TutorialClient {
  static final Target SERVER =
      Target.command("java", "-cp", System.getProperty("java.class.path"), "TutorialServer");

  public static void main(String[] arguments) {
    try (var client = Client.connect(arguments.length == 0 ? SERVER : Target.url(arguments[0]))) {
      var tools = client.listTools().stream().map(Tool::name).collect(Collectors.joining(", "));
      System.out.println("tools: " + tools);
      for (var text : List.of("milk and bread", "bread")) {
        var result = client.callTool("add_note", Map.of("name", "groceries", "text", text));
        System.out.println((result.isError() ? "error: " : "result: ") + result.text());
      }
      var notes = (TextResourceContents) client.readResource("notes://all").contents().get(0);
      System.out.println(notes.text());
    } catch (TrunklineException error) {
      System.err.println(error.kind().value() + ": " + error.getMessage());
      System.exit(1);
    }
  }
}

// A gateway that exposes an older server under the newest revision, next to its own tool.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.Tool;
import java.util.Map;
import java.util.stream.Collectors;

class Composition {
  static final Target OLD =
      Target.command("java", "-cp", System.getProperty("java.class.path"), "TutorialServer");

  public static void main(String[] arguments) {
    try (var gateway = new Server("gateway", "1.0.0");
        var extra = new Server("extra", "1.0.0");
        var old = Client.connect(OLD, options -> options.revision(RevisionChoice.LEGACY))) {
      extra.tool("hello", "Greet.", (context, given) -> "Hello");
      gateway.proxy(old, options -> {});
      gateway.mount("extra", extra);

      // Over HTTP: gateway.listen
      var newest = RevisionChoice.V2026_07_28;
      try (var client =
          Client.connect(Target.server(gateway), options -> options.revision(newest))) {
        var tools = client.listTools().stream().map(Tool::name).collect(Collectors.joining(" "));
        System.out.println(tools);
        var result = client.callTool("add_note", Map.of("name", "groceries", "text", "milk"));
        System.out.println(old.revision() + " as " + client.revision() + ": " + result.text());
      }
    }
  }
}

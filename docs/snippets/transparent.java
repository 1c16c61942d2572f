// A bridge that clients see as the server behind it, which starts with their first request.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.Tool;
import java.util.stream.Collectors;

class Transparent {
  static final Target NOTES =
      Target.command("java", "-cp", System.getProperty("java.class.path"), "TutorialServer");

  public static void main(String[] arguments) {
    try (var bridge = new Server("bridge", "1.0.0");
        var notes = Client.connect(NOTES, options -> options.lazy(true))) {
      bridge.proxy(notes, options -> options.transparent(true));

      // Over HTTP: bridge.listen
      try (var client = Client.connect(Target.server(bridge))) {
        var tools = client.listTools().stream().map(Tool::name).collect(Collectors.joining(" "));
        System.out.println(client.serverInfo().name() + ": " + tools);
      }
    }
  }
}

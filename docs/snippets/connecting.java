// A client for an entry of a configuration file: it starts the server and negotiates a revision.
import dev.trunkline.java.Client;
import dev.trunkline.java.Json;
import dev.trunkline.java.Target;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

class Connecting {
  static final Map<String, Object> ENTRY =
      Map.of(
          "command",
          "java",
          "args",
          List.of("-cp", System.getProperty("java.class.path"), "TutorialServer"));

  public static void main(String[] arguments) {
    try (var client =
        Client.connect(
            Target.configuration(ENTRY),
            options ->
                options
                    .timeout(Duration.ofSeconds(10))
                    // On a busy machine, a JVM takes seconds to start.
                    .probeTimeout(Duration.ofSeconds(20)))) {
      var server = client.serverInfo();
      System.out.println(server.name() + " " + server.version());
      System.out.println(client.revision());
      var capabilities = Json.parseObject(Json.write(client.capabilities()));
      System.out.println(String.join(", ", new TreeSet<>(capabilities.keySet())));
      System.out.println(client.instructions());
    }
  }
}

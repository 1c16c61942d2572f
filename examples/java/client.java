import dev.trunkline.java.Target;
import dev.trunkline.java.model.Progress;
import java.time.Duration;
import java.util.Map;

/**
 * Calls the server on the same class path, or one at a URL: java Client [http://127.0.0.1:8000/mcp]
 */
class Client {
  static final Target SERVER =
      Target.command("java", "-cp", System.getProperty("java.class.path"), "Server");

  static void show(Progress report) {
    var total = report.total() == null ? "" : " of " + report.total().intValue();
    System.out.println("progress " + (int) report.progress() + total);
  }

  public static void main(String[] arguments) {
    var target = arguments.length == 0 ? SERVER : Target.url(arguments[0]);
    try (var client = dev.trunkline.java.Client.connect(target)) {
      System.out.println(
          "connected to " + client.serverInfo().name() + ", revision " + client.revision());
      for (var tool : client.listTools()) {
        System.out.println("tool " + tool.name() + ": " + tool.description());
      }
      var result =
          client.callTool(
              "forecast",
              Map.of("city", "Oslo", "days", 2),
              options -> options.timeout(Duration.ofSeconds(10)).onProgress(Client::show));
      System.out.println(result.text());
    }
  }
}

// Log messages for the client, and the library's own log.
import dev.trunkline.java.Client;
import dev.trunkline.java.Log;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.LoggingLevel;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

class Logs {
  @SuppressWarnings("deprecation")
  public static void main(String[] arguments) throws InterruptedException {
    // Trunkline logs to standard error, or to a logger such as that of SLF4J.
    Log.setLogger(
        record -> System.getLogger(record.target()).log(levelOf(record.level()), record.message()));

    try (var server = new Server("backup", "1.0.0")) {
      server.tool(
          "backup",
          "Back up all files.",
          (context, given) -> {
            context.log(LoggingLevel.DEBUG, "looking for changes");
            context.log(LoggingLevel.INFO, Map.of("files", 3), "copier");
            return "done";
          });

      var arrived = new LinkedBlockingQueue<String>();
      try (var client =
          Client.connect(
              Target.server(server),
              options ->
                  options
                      .logLevel(LoggingLevel.INFO)
                      .onLog(message -> arrived.add(textOf(message))))) {
        var result = client.callTool("backup");
        System.out.println(arrived.take());
        System.out.println(result.text());
      }
    }
  }

  static String textOf(dev.trunkline.java.model.LogMessage message) {
    var files = ((Map<?, ?>) message.data()).get("files");
    return message.level() + " of the " + message.logger() + ": " + files + " files";
  }

  static System.Logger.Level levelOf(String level) {
    return switch (level) {
      case "error" -> System.Logger.Level.ERROR;
      case "warn" -> System.Logger.Level.WARNING;
      default -> System.Logger.Level.DEBUG;
    };
  }
}

// Information about a connection, and why one failed.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.io.IOException;

class Debugging {
  public static void main(String[] arguments) {
    // Sends error details, which may be secret, to clients: not for production.
    try (var server = new Server("backup", "1.0.0", options -> options.debug(true))) {
      server.tool(
          "backup",
          "Back up all files.",
          (context, given) -> {
            throw new IOException("disk full");
          });

      try (var client = Client.connect(Target.server(server))) {
        System.out.println(client.revision() + " " + client.serverInfo().name());
        var result = client.callTool("backup");
        var isTold = result.text().contains("disk full");
        System.out.println(
            (result.isError() ? "error: " : "result: ") + (isTold ? "disk full" : ""));
      }
    }
  }
}

import dev.trunkline.java.Client;
import dev.trunkline.java.Target;
import java.util.Map;

/** Starts the server on the same class path and calls its tool. */
class HelloClient {
  public static void main(String[] arguments) {
    var classPath = System.getProperty("java.class.path");
    try (var client = Client.connect(Target.command("java", "-cp", classPath, "HelloServer"))) {
      System.out.println(client.callTool("hello", Map.of("name", "Ada")).text());
    }
  }
}

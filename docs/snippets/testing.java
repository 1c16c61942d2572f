// Tests of a server without sockets or processes. In your project, make them methods with `@Test`.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.ToolException;
import dev.trunkline.java.model.RevisionChoice;
import java.util.List;

class Testing {
  record Divide(double dividend, double divisor) {}

  static double divide(Divide given) {
    if (given.divisor() == 0) {
      throw new ToolException("division by zero");
    }
    return given.dividend() / given.divisor();
  }

  static void check(Object expected, Object actual) {
    if (!expected.equals(actual)) {
      throw new AssertionError(actual + " instead of " + expected);
    }
  }

  static void theMethodItself() {
    check(1.5, divide(new Divide(3, 2)));
  }

  static void aCallThroughTheProtocol(Server server, RevisionChoice revision) {
    try (var client =
        Client.connect(Target.server(server), options -> options.revision(revision))) {
      check(revision.value(), client.revision());
      check("1.5", client.callTool("divide", new Divide(3, 2), String.class));
    }
  }

  static void failures(Server server) {
    try (var client = Client.connect(Target.server(server))) {
      client.callTool("divide", new Divide(3, 0), String.class);
    } catch (ToolException error) {
      System.out.println("the handler failed: " + error.getMessage());
    }
  }

  public static void main(String[] arguments) {
    try (var server = new Server("calculator", "1.0.0")) {
      server.tool("divide", "Divide two numbers.", Divide.class, (context, given) -> divide(given));
      theMethodItself();
      for (var revision : List.of(RevisionChoice.V2026_07_28, RevisionChoice.V2024_11_05)) {
        aCallThroughTheProtocol(server, revision);
      }
      failures(server);
    }
    System.out.println("all passed");
  }
}

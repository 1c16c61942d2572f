// Middleware around each tool call: it counts calls and refuses some.
import dev.trunkline.java.Client;
import dev.trunkline.java.Context;
import dev.trunkline.java.MiddlewareRequest;
import dev.trunkline.java.ProtocolException;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.util.Map;

class Middleware {
  static final ThreadLocal<String> TITLE = new ThreadLocal<>();

  record Guest(String name) {}

  static Map<String, Object> greetCarefully(Context context, MiddlewareRequest request) {
    var arguments = (Map<?, ?>) request.params().get("arguments");
    if (arguments != null && "Mallory".equals(arguments.get("name"))) {
      throw new ProtocolException("Mallory may not call.", 403);
    }
    TITLE.set("Countess");
    try {
      var result = request.next();
      System.out.println(request.params().get("name") + " was called");
      return result;
    } finally {
      TITLE.remove();
    }
  }

  public static void main(String[] arguments) {
    // Its value follows requests to the threads of their handlers.
    Context.carry(TITLE);

    try (var server = new Server("greeter", "1.0.0")) {
      server.middleware(Middleware::greetCarefully, "tools/call");
      server.tool(
          "greet",
          "Greet someone.",
          Guest.class,
          (context, guest) -> "Hello, " + TITLE.get() + " " + guest.name() + "!");

      try (var client = Client.connect(Target.server(server))) {
        System.out.println(client.callTool("greet", Map.of("name", "Ada")).text());
        try {
          client.callTool("greet", Map.of("name", "Mallory"));
        } catch (ProtocolException error) {
          System.out.println(error.code());
        }
      }
    }
  }
}

import dev.trunkline.java.Server;

/** A server with one tool, over stdio. */
class HelloServer {
  record Guest(String name) {}

  public static void main(String[] arguments) {
    var server = new Server("hello", "1.0.0");

    server.tool(
        "hello",
        "Greets someone.",
        Guest.class,
        (context, guest) -> "Hello, " + guest.name() + "!");

    server.serveStdio();
  }
}

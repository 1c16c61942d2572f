// A server that opens a database before the first call and closes it after the last.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;

class Lifespan {
  // Stands for a pool of connections.
  record Database(String name) implements AutoCloseable {
    Database {
      System.out.println(name + " opens");
    }

    int count() {
      return 7;
    }

    @Override
    public void close() {
      System.out.println(name + " closes");
    }
  }

  public static void main(String[] arguments) {
    try (var server =
        new Server("orders", "1.0.0", options -> options.lifespan(() -> new Database("orders")))) {
      server.tool(
          "count",
          "Count the orders.",
          (context, given) -> context.lifespan(Database.class).count());

      try (var client = Client.connect(Target.server(server))) {
        System.out.println(client.callTool("count").text());
      }
    }
  }
}

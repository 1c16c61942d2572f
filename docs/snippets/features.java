// A server that changes its features at run time, for everyone or per caller.
import dev.trunkline.java.Client;
import dev.trunkline.java.Context;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.Implementation;
import dev.trunkline.java.model.Tool;
import java.time.Duration;
import java.util.stream.Collectors;

class Features {
  record Article(String article) {}

  // With access tokens: `context.auth()`.
  static boolean isStaff(Context context) {
    return context.clientInfo() != null && context.clientInfo().name().equals("staff");
  }

  static void showTools(Server server, String name) {
    var info = new Implementation(name, "1.0.0");
    try (var client = Client.connect(Target.server(server), options -> options.info(info))) {
      var tools = client.listTools().stream().map(Tool::name).collect(Collectors.joining(" "));
      System.out.println(name + ": " + tools);
    }
  }

  public static void main(String[] arguments) {
    try (var server = new Server("shop", "1.0.0")) {
      var price =
          server.tool(
              "price",
              "The price of an article.",
              Article.class,
              options -> options.timeout(Duration.ofSeconds(2)),
              (context, given) -> given.article() + ": 5");
      server.tool(
          "discount",
          "Lower a price.",
          Article.class,
          options -> options.visible(Features::isStaff),
          (context, given) -> given.article() + " is cheaper now");

      showTools(server, "staff");
      showTools(server, "guest");
      price.update(options -> options.description("The price of an article, in euros."));
      price.disable();
      showTools(server, "staff");
      price.enable();
    }
  }
}

// Errors: for the model, for the log, protocol errors, and timeouts.
import dev.trunkline.java.Client;
import dev.trunkline.java.ProtocolException;
import dev.trunkline.java.RequestTimeoutException;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.ToolException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

class Errors {
  record Article(String article) {}

  static String price(Article given) {
    if (given.article().equals("sun")) {
      throw new ToolException("The sun is not for sale.");
    }
    throw new NoSuchElementException("no row for " + given.article() + " in prices.db");
  }

  public static void main(String[] arguments) {
    try (var server = new Server("shop", "1.0.0")) {
      server.tool(
          "price", "The price of an article.", Article.class, (context, given) -> price(given));
      server.tool(
          "wait",
          "Never ends.",
          (context, given) -> {
            Thread.sleep(Long.MAX_VALUE);
            return "done";
          });

      try (var client = Client.connect(Target.server(server))) {
        for (var article : List.of("sun", "moon")) {
          System.out.println(client.callTool("price", Map.of("article", article)).text());
        }
        try {
          client.callTool("prize");
        } catch (ProtocolException error) {
          System.out.println(error.kind().value() + " " + error.code());
        }
        try {
          client.callTool("wait", null, options -> options.timeout(Duration.ofMillis(50)));
        } catch (RequestTimeoutException error) {
          System.out.println(error.kind().value());
        }
      }
    }
  }
}

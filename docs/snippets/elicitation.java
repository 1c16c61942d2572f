// A tool that asks the user a question, and a client that answers it.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.ElicitAction;
import dev.trunkline.java.model.ElicitRequest;
import dev.trunkline.java.model.ElicitResult;
import java.util.Map;

class Elicitation {
  record Table(int people) {}

  static ElicitResult ask(ElicitRequest request) {
    // Here the user fills in the form of `request.requestedSchema()`.
    System.out.println(request.message());
    return new ElicitResult(ElicitAction.ACCEPT).withContent(Map.of("people", 4));
  }

  public static void main(String[] arguments) {
    try (var server = new Server("restaurant", "1.0.0")) {
      server.tool(
          "book",
          "Book a table.",
          (context, given) -> {
            var table = context.elicit("A table for how many?", Table.class).content();
            return table == null
                ? "Nothing was booked."
                : "A table for " + table.people() + " is booked.";
          });

      try (var client =
          Client.connect(Target.server(server), options -> options.onElicit(Elicitation::ask))) {
        System.out.println(client.callTool("book").text());
      }
    }
  }
}

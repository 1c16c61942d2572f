// A test of a tool that asks the user, with scripted answers.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.ElicitAction;
import dev.trunkline.java.model.ElicitRequest;
import dev.trunkline.java.model.ElicitResult;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

class ScriptedAnswers {
  record Table(int people) {}

  static final Deque<ElicitResult> ANSWERS =
      new ArrayDeque<>(
          List.of(
              new ElicitResult(ElicitAction.ACCEPT).withContent(Map.of("people", 4)),
              new ElicitResult(ElicitAction.DECLINE)));
  static final List<String> ASKED = new ArrayList<>();

  static ElicitResult answer(ElicitRequest request) {
    ASKED.add(request.message());
    return ANSWERS.remove();
  }

  static void check(Object expected, Object actual) {
    if (!expected.equals(actual)) {
      throw new AssertionError(actual + " instead of " + expected);
    }
  }

  public static void main(String[] arguments) {
    // Reruns handlers that ask, on every revision: this reveals effects before a question.
    try (var server = new Server("restaurant", "1.0.0", options -> options.rerunHandlers(true))) {
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
          Client.connect(
              Target.server(server), options -> options.onElicit(ScriptedAnswers::answer))) {
        check("A table for 4 is booked.", client.callTool("book").text());
        check("Nothing was booked.", client.callTool("book").text());
      }
    }
    check(List.of("A table for how many?", "A table for how many?"), ASKED);
    check(true, ANSWERS.isEmpty());
    System.out.println("all passed");
  }
}

// A client that is notified when a resource changes, and when the list of tools does.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.java.model.TextResourceContents;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

class Subscriptions {
  static final String NOTE = "notes://today";

  public static void main(String[] arguments) {
    try (var server = new Server("notes", "1.0.0")) {
      var notes = new CopyOnWriteArrayList<>(List.of("Buy milk."));
      server.resource(
          "today",
          NOTE,
          options -> options.description("The note of today."),
          (context, request) -> notes.get(notes.size() - 1));
      var clear =
          server.tool(
              "clear",
              "Forget all notes.",
              (context, given) -> {
                notes.clear();
                return "done";
              });

      var filter = new SubscriptionFilter().withResources(List.of(NOTE)).withTools(true);
      try (var client = Client.connect(Target.server(server));
          var subscription = client.subscribe(filter)) {
        var changes = subscription.iterator();
        notes.add("Call Ada.");
        server.resourceUpdated(NOTE);
        var change = changes.next();
        System.out.println(change.kind() + " " + change.uri());
        var note = (TextResourceContents) client.readResource(NOTE).contents().get(0);
        System.out.println(note.text());

        clear.remove();
        System.out.println(changes.next().kind());
      }
    }
  }
}

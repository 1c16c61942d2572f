// A resource, a resource template, and a client that reads both.
import dev.trunkline.java.Client;
import dev.trunkline.java.ProtocolException;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.TextResourceContents;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class Resources {
  static final Map<String, String> NOTES =
      new TreeMap<>(Map.of("today", "Buy milk.", "friday", "Call Ada.")).descendingMap();

  static String read(Client client, String uri) {
    return ((TextResourceContents) client.readResource(uri).contents().get(0)).text();
  }

  public static void main(String[] arguments) {
    try (var server = new Server("notes", "1.0.0")) {
      server.resource(
          "index",
          "notes://index",
          options -> options.description("The names of all notes.").mimeType("text/plain"),
          (context, request) -> String.join(", ", NOTES.keySet()));
      server.resource(
          "note",
          "notes://by-name/{name}",
          options -> options.description("One note.").mimeType("text/plain"),
          (context, request) -> NOTES.get(request.get("name")));

      try (var client = Client.connect(Target.server(server))) {
        for (var resource : client.listResources()) {
          System.out.println(resource.uri() + " " + resource.mimeType());
        }
        for (var template : client.listResourceTemplates()) {
          System.out.println(template.uriTemplate());
        }
        for (var uri : List.of("notes://index", "notes://by-name/friday")) {
          System.out.println(read(client, uri));
        }
        try {
          read(client, "notes://by-name/monday");
        } catch (ProtocolException error) {
          System.out.println(error.kind().value() + " " + error.code());
        }
      }
    }
  }
}

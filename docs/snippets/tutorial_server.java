// Notes that a model can write and read. Serves stdio; given a port, HTTP.
import dev.trunkline.java.Description;
import dev.trunkline.java.Server;
import dev.trunkline.java.ToolException;
import dev.trunkline.java.model.PromptArgument;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Collectors;

class TutorialServer {
  record Note(
      @Description("A single word, such as groceries.") String name,
      @Description("The note.") String text) {}

  static final Map<String, String> NOTES = new ConcurrentSkipListMap<>();

  static String addNote(Server server, Note note) {
    if (NOTES.putIfAbsent(note.name(), note.text()) != null) {
      throw new ToolException(
          "A note named " + note.name() + " already exists: choose another name.");
    }
    server.resourceUpdated("notes://all");
    return "Saved " + note.name() + ".";
  }

  static String all() {
    return NOTES.entrySet().stream()
        .map(note -> "- " + note.getKey() + ": " + note.getValue())
        .collect(Collectors.joining("\n"));
  }

  public static void main(String[] arguments) {
    var server =
        new Server(
            "notes", "1.0.0", options -> options.instructions("Keeps short notes for the user."));
    server.tool(
        "add_note",
        "Save a note under a name.",
        Note.class,
        (context, note) -> addNote(server, note));
    server.resource(
        "all",
        "notes://all",
        options -> options.description("All notes.").mimeType("text/markdown"),
        (context, request) -> all());
    server.prompt(
        "plan",
        "Plan a day with the notes.",
        List.of(new PromptArgument("day").withRequired(true)),
        options -> {},
        (context, given) -> "Read notes://all and plan " + given.get("day") + " accordingly.");

    if (arguments.length == 0) {
      server.serveStdio();
    } else {
      server.serveHttp(options -> options.port(Integer.parseInt(arguments[0])));
    }
  }
}

// A tool that only works in folders its client allows.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.Root;
import java.util.List;
import java.util.stream.Collectors;

class Roots {
  static final List<Root> ROOTS =
      List.of(new Root("file:///home/ada/notes").withName("notes"), new Root("file:///srv/wiki"));

  @SuppressWarnings("deprecation")
  public static void main(String[] arguments) {
    try (var server = new Server("search", "1.0.0")) {
      server.tool(
          "folders",
          "Name the folders that may be searched.",
          (context, given) ->
              context.listRoots().stream()
                  .map(root -> root.name() == null ? root.uri() : root.name())
                  .collect(Collectors.joining(", ")));

      try (var client = Client.connect(Target.server(server), options -> options.roots(ROOTS))) {
        System.out.println(client.callTool("folders").text());
      }
    }
  }
}

// Many servers behind one client. One of them fails to start; the others work.
import dev.trunkline.java.ClientGroup;
import dev.trunkline.java.Target;
import java.util.LinkedHashMap;
import java.util.Map;

class Groups {
  public static void main(String[] arguments) {
    var classPath = System.getProperty("java.class.path");
    var servers = new LinkedHashMap<String, Target>();
    servers.put("notes", Target.command("java", "-cp", classPath, "TutorialServer"));
    servers.put("broken", Target.command("no-such-program"));

    // Or the path of an mcp.json.
    try (var group = ClientGroup.connect(servers)) {
      for (var server : group.servers()) {
        System.out.println(
            server.name() + ": " + (server.error() == null ? "connected" : "failed"));
      }
      group.listTools().forEach(tool -> System.out.println(tool.name()));
      Map<String, Object> note = Map.of("name", "groceries", "text", "milk");
      System.out.println(group.callTool("notes__add_note", note).text());
    }
  }
}

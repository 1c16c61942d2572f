// An agent skill: instructions served to clients, and a client that loads them.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.TextResourceContents;
import java.util.Map;

class Skills {
  static final String MANIFEST =
      """
      ---
      name: packing
      description: How to pack for a trip.
      ---
      Ask for the forecast first.
      """;

  public static void main(String[] arguments) {
    try (var server = new Server("trips", "1.0.0")) {
      server.skill(Map.of("SKILL.md", MANIFEST), options -> {}); // or the path of a folder

      try (var client = Client.connect(Target.server(server))) {
        for (var skill : client.listSkills()) {
          var facts = (Map<?, ?>) skill.frontmatter();
          System.out.println(facts.get("name") + ": " + facts.get("description"));
          var loaded = (TextResourceContents) client.loadSkill(skill);
          System.out.println(loaded.text().split("---\n")[2].strip());
        }
      }
    }
  }
}

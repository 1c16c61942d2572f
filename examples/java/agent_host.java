import dev.trunkline.java.ClientGroup;
import dev.trunkline.java.Json;
import dev.trunkline.java.TrunklineException;
import dev.trunkline.java.model.TextContent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A host in the terminal: java AgentHost mcp.json
 *
 * <p>It connects to every server in the configuration, lists their features, and calls the tools
 * that the user names. Servers can ask the user in the terminal, and let the user log in with the
 * browser.
 */
class AgentHost {
  static final String HELP =
      """
        NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
        read URI             reads a resource
        prompt NAME [JSON]   gets a prompt
      """;

  static void show(ClientGroup group) {
    for (var server : group.servers()) {
      var error = server.error();
      System.out.println(
          server.name() + ": " + (error == null ? server.state() : error.getMessage()));
    }
    group
        .listTools()
        .forEach(tool -> System.out.println("tool " + tool.name() + ": " + tool.description()));
    group
        .listResources()
        .forEach(
            resource -> System.out.println("resource " + resource.uri() + ": " + resource.name()));
    group
        .listPrompts()
        .forEach(
            prompt -> System.out.println("prompt " + prompt.name() + ": " + prompt.description()));
  }

  static void run(ClientGroup group, String line) {
    var words = line.split(" ", 2);
    var rest = words.length > 1 ? words[1] : "";
    switch (words[0]) {
      case "read" ->
          group.readResource(rest).contents().forEach(one -> System.out.println(Json.write(one)));
      case "prompt" -> {
        var prompt = rest.split(" ", 2);
        var given = new LinkedHashMap<String, String>();
        arguments(prompt).forEach((name, value) -> given.put(name, String.valueOf(value)));
        for (var message : group.getPrompt(prompt[0], given).messages()) {
          System.out.println(message.role() + ": " + Json.write(message.content()));
        }
      }
      default -> {
        for (var block : group.callTool(words[0], arguments(words)).content()) {
          System.out.println(block instanceof TextContent text ? text.text() : Json.write(block));
        }
      }
    }
  }

  static Map<String, Object> arguments(String[] words) {
    return Json.parseObject(words.length > 1 ? words[1] : "{}");
  }

  public static void main(String[] arguments) throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    // The program uses the terminal only between calls; during calls, `terminalForms` may.
    try (var group =
        ClientGroup.connect(
            Path.of(arguments[0]),
            options ->
                options
                    .terminalForms(true)
                    .auth(auth -> auth.clientName("Agent host").store("file")))) {
      show(group);
      System.out.print(HELP + "> ");
      for (var line = input.readLine(); line != null; line = input.readLine()) {
        try {
          if (!line.isBlank()) {
            run(group, line.strip());
          }
        } catch (TrunklineException | IllegalArgumentException error) {
          System.out.println("error: " + error.getMessage());
        }
        System.out.print("> ");
      }
    }
  }
}

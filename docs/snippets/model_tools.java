// A server's tools in the formats of model providers, and a result as the model sees it.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.ImageContent;
import dev.trunkline.java.model.TextContent;
import dev.trunkline.java.model.Tool;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class ModelTools {
  record Place(String city) {}

  static Map<String, Object> forOpenai(Tool tool) {
    return Map.of("type", "function", "function", described(tool, "parameters"));
  }

  static Map<String, Object> forAnthropic(Tool tool) {
    return described(tool, "input_schema");
  }

  static Map<String, Object> forGemini(Tool tool) {
    return described(tool, "parametersJsonSchema");
  }

  static Map<String, Object> described(Tool tool, String schema) {
    var description = tool.description() == null ? "" : tool.description();
    return Map.of("name", tool.name(), "description", description, schema, tool.inputSchema());
  }

  static Map<String, Object> resultForAnthropic(String use, CallToolResult result) {
    var content = new ArrayList<Map<String, Object>>();
    for (var block : result.content()) {
      if (block instanceof TextContent text) {
        content.add(Map.of("type", "text", "text", text.text()));
      } else if (block instanceof ImageContent image) {
        var source = Map.of("type", "base64", "media_type", image.mimeType(), "data", image.data());
        content.add(Map.of("type", "image", "source", source));
      }
    }
    return Map.of(
        "type",
        "tool_result",
        "tool_use_id",
        use,
        "content",
        content,
        "is_error",
        result.isError());
  }

  static void show(String provider, Tool tool, Object schema) {
    var required = (List<?>) ((Map<?, ?>) schema).get("required");
    System.out.println(provider + ": " + tool.name() + " needs " + required.get(0));
  }

  public static void main(String[] arguments) {
    try (var server = new Server("weather", "1.0.0")) {
      server.tool(
          "forecast",
          "Forecast the weather of a city.",
          Place.class,
          (context, place) -> place.city() + ": snow");

      try (var client = Client.connect(Target.server(server))) {
        var tool = client.listTools().get(0);
        show("openai", tool, ((Map<?, ?>) forOpenai(tool).get("function")).get("parameters"));
        show("anthropic", tool, forAnthropic(tool).get("input_schema"));
        show("gemini", tool, forGemini(tool).get("parametersJsonSchema"));

        var called = client.callTool("forecast", Map.of("city", "Oslo"));
        var content = (List<?>) resultForAnthropic("toolu_1", called).get("content");
        var first = (Map<?, ?>) content.get(0);
        System.out.println(first.get("type") + ": " + first.get("text"));
      }
    }
  }
}

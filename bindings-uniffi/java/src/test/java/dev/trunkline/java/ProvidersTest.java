package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.trunkline.java.model.Category;
import dev.trunkline.java.model.ChangeKind;
import dev.trunkline.java.model.Prompt;
import dev.trunkline.java.model.Resource;
import dev.trunkline.java.model.ResourceTemplate;
import dev.trunkline.java.model.SubscriptionFilter;
import dev.trunkline.java.model.Tool;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ProvidersTest {
  private record Row(
      Category category,
      Map<String, Object> item,
      ChangeKind change,
      Function<Client, Stream<String>> names) {}

  private static final List<Row> ROWS =
      List.of(
          new Row(
              Category.TOOLS,
              Map.of("name", "row", "inputSchema", Map.of("type", "object")),
              ChangeKind.TOOLS,
              client -> client.listTools().stream().map(Tool::name)),
          new Row(
              Category.RESOURCES,
              Map.of("name", "row", "uri", "table://row"),
              ChangeKind.RESOURCE_LIST,
              client -> client.listResources().stream().map(Resource::name)),
          new Row(
              Category.RESOURCE_TEMPLATES,
              Map.of("name", "row", "uriTemplate", "table://{row}"),
              ChangeKind.RESOURCE_LIST,
              client -> client.listResourceTemplates().stream().map(ResourceTemplate::name)),
          new Row(
              Category.PROMPTS,
              Map.of("name", "row"),
              ChangeKind.PROMPTS,
              client -> client.listPrompts().stream().map(Prompt::name)));

  @Test
  void aProviderExtendsTheListOfItsCategory() {
    assertEquals(List.of(Category.values()), ROWS.stream().map(Row::category).toList());
    var filter = new SubscriptionFilter().withTools(true).withPrompts(true).withResourceList(true);
    for (var row : ROWS) {
      try (var server = new Server("table", "1.0")) {
        server.provider(row.category(), providerOf(row.item()));
        try (var client = Client.connect(Target.server(server));
            var subscription = client.subscribe(filter)) {
          assertEquals(List.of("row"), row.names().apply(client).toList());
          server.listChanged(row.category());
          assertEquals(row.change(), subscription.iterator().next().kind());
        }
      }
    }
  }

  private static Provider providerOf(Map<String, Object> item) {
    return new Provider() {
      @Override
      public Page list(String cursor) {
        return new Page(List.of(item), null);
      }

      @Override
      public Object get(Map<String, Object> params) {
        return null;
      }
    };
  }
}

// Table rows as resources: listed page by page and read on request.
import dev.trunkline.java.Client;
import dev.trunkline.java.Provider;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.Category;
import dev.trunkline.java.model.Resource;
import dev.trunkline.java.model.TextResourceContents;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

class Providers {
  static final List<String> ROWS = List.of("value 1", "value 2", "value 3", "value 4", "value 5");
  static final int PAGE = 2;

  // Lists the rows, and reads one.
  static final class Rows implements Provider {
    @Override
    public Page list(String cursor) {
      var start = cursor == null ? 0 : Integer.parseInt(cursor);
      var end = Math.min(start + PAGE, ROWS.size());
      var items = IntStream.range(start, end).mapToObj(Rows::item).toList();
      return new Page(items, end < ROWS.size() ? String.valueOf(end) : null);
    }

    @Override
    public Object get(Map<String, Object> params) {
      var uri = params.get("uri");
      var rows = IntStream.range(0, ROWS.size());
      var found = rows.filter(index -> item(index).get("uri").equals(uri)).findFirst();
      return found.isPresent() ? ROWS.get(found.getAsInt()) : null;
    }

    private static Map<String, Object> item(int index) {
      return Map.of("uri", "rows://" + (index + 1), "name", "row " + (index + 1));
    }
  }

  public static void main(String[] arguments) {
    try (var server = new Server("table", "1.0.0")) {
      server.provider(Category.RESOURCES, new Rows());

      try (var client = Client.connect(Target.server(server))) {
        var names = client.listResources().stream().map(Resource::name);
        System.out.println(names.collect(Collectors.joining(", ")));
        var row = (TextResourceContents) client.readResource("rows://4").contents().get(0);
        System.out.println(row.text());
      }
    }
  }
}

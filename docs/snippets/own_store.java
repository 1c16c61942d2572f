// A custom store: maps here, a database in production.
import dev.trunkline.java.Server;
import dev.trunkline.java.Store;
import dev.trunkline.java.model.StoredEntry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

class OwnStore {
  static final class MapStore implements Store {
    record Kept<T>(T value, long ends) {}

    private final Map<String, Kept<String>> texts = new HashMap<>();
    private final Map<String, Kept<List<StoredEntry>>> logs = new HashMap<>();
    private long position;

    @Override
    public synchronized String get(String key) {
      return fresh(texts, key);
    }

    @Override
    public synchronized void put(String key, String text, Duration keepFor) {
      texts.put(key, keep(text, keepFor));
    }

    @Override
    public synchronized boolean putIf(String key, String expected, String text, Duration keepFor) {
      // With a database, use a transaction.
      var isAsExpected = Objects.equals(get(key), expected);
      if (isAsExpected) {
        put(key, text, keepFor);
      }
      return isAsExpected;
    }

    @Override
    public synchronized void remove(String key) {
      texts.remove(key);
      logs.remove(key);
    }

    @Override
    public synchronized long append(String log, String entry, long maxEntries, Duration keepFor) {
      var entries = new ArrayList<>(read(log, 0, Long.MAX_VALUE, Duration.ZERO));
      entries.add(new StoredEntry(++position, entry));
      var first = Math.max(0, entries.size() - (int) Math.min(maxEntries, entries.size()));
      logs.put(log, keep(entries.subList(first, entries.size()), keepFor));
      return position;
    }

    // A read need not wait for entries.
    @Override
    public synchronized List<StoredEntry> read(String log, long after, long limit, Duration wait) {
      var entries = fresh(logs, log);
      return entries == null
          ? List.of()
          : entries.stream().filter(entry -> entry.position() > after).limit(limit).toList();
    }

    private static <T> Kept<T> keep(T value, Duration keepFor) {
      return new Kept<>(value, System.nanoTime() + keepFor.toNanos());
    }

    private static <T> T fresh(Map<String, Kept<T>> table, String key) {
      var kept = table.get(key);
      return kept == null || kept.ends() < System.nanoTime() ? null : kept.value();
    }
  }

  public static void main(String[] arguments) {
    var server = new Server("reports", "1.0.0", options -> options.store(new MapStore()));

    var findings = Server.checkStore(new MapStore());
    System.out.println(
        findings.isEmpty() ? "The store keeps its contract." : String.join("\n", findings));
    server.close();
  }
}

package bench.java;

import dev.trunkline.java.model.BlobResourceContents;
import dev.trunkline.java.Client;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.Target;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/**
 * The bench client in Java: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
 *
 * <p>With INFLIGHT {@code resource}, it reads a resource N times.
 */
final class BenchClient {
  /** Characters of base64 in the resource. */
  private static final int BLOB_LENGTH = 16 << 20;

  private BenchClient() {}

  public static void main(String[] arguments) throws IOException {
    var calls = Integer.parseInt(arguments[0]);
    var reads = arguments[1].equals("resource");
    var target =
        arguments[2].equals("--")
            ? Target.command(Arrays.asList(arguments).subList(3, arguments.length))
            : Target.url(arguments[2]);
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (var client =
        Client.connect(target, options -> options.revision(RevisionChoice.V2025_11_25))) {
      for (var number = 0; number < 200 && !reads; number++) {
        call(client, number);
      }
      System.out.println("READY");
      input.readLine();
      if (reads) {
        IntStream.range(0, calls).forEach(number -> read(client));
      } else {
        callConcurrently(client, calls, Integer.parseInt(arguments[1]));
      }
      System.out.println("DONE");
      while (input.readLine() != null) {
        // The end of the input ends the program.
      }
    }
  }

  private static void callConcurrently(Client client, int calls, int inFlight) {
    var threads = Executors.newFixedThreadPool(inFlight);
    var all =
        IntStream.range(0, inFlight)
            .mapToObj(
                first ->
                    CompletableFuture.runAsync(
                        () -> {
                          for (var number = first; number < calls; number += inFlight) {
                            call(client, number);
                          }
                        },
                        threads));
    CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
    threads.shutdown();
  }

  private static void call(Client client, int number) {
    var text = client.callTool("echo", Map.of("message", "m" + number)).text();
    if (!text.equals("m" + number)) {
      throw new IllegalStateException("wrong text: " + text);
    }
  }

  private static void read(Client client) {
    var contents = client.readResource("bench:blob").contents().get(0);
    if (!(contents instanceof BlobResourceContents blob) || blob.blob().length() != BLOB_LENGTH) {
      throw new IllegalStateException("wrong contents");
    }
  }
}

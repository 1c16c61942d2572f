package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.trunkline.java.model.ElicitAction;
import dev.trunkline.java.model.ElicitResult;
import dev.trunkline.java.model.RevisionChoice;
import dev.trunkline.java.model.SubscriptionFilter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** The libraries of Kotlin whose versions an application manages, such as those of Spring Boot. */
@Timeout(60)
class LibrariesTest {
  @TestFactory
  Stream<DynamicTest> managedVersionsWork() throws IOException {
    try (var folders = Files.list(Path.of(System.getProperty("managed")))) {
      var found = folders.sorted().toList();
      assertEquals(3, found.size());
      return found.stream()
          .map(
              folder ->
                  DynamicTest.dynamicTest(folder.getFileName().toString(), () -> check(folder)));
    }
  }

  @Test
  void kotlin1CanReadTheClasses() {
    // A compiler reads the metadata of the next version, too.
    var version = dev.trunkline.Server.class.getAnnotation(kotlin.Metadata.class).mv();
    assertEquals(List.of(2, 0), List.of(version[0], version[1]));
  }

  private static void check(Path managed) throws Exception {
    var places = new ArrayList<String>();
    for (var place : System.getProperty("java.class.path").split(File.pathSeparator)) {
      var name = Path.of(place).getFileName().toString();
      if (!name.startsWith("kotlin")) {
        places.add(place);
      }
    }
    try (var libraries = Files.list(managed)) {
      libraries.map(Path::toString).forEach(places::add);
    }
    var command =
        List.of(
            "java",
            "-Djna.library.path=" + System.getProperty("jna.library.path", ""),
            "-cp",
            String.join(File.pathSeparator, places),
            Program.class.getName());
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    if (!process.waitFor(40, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    var output = new String(process.getInputStream().readAllBytes()).trim();
    assertTrue(output.endsWith("all well"), output);
    assertEquals(0, process.waitFor(), output);
  }

  /** A server and its client over HTTP. */
  static final class Program {
    private Program() {}

    record Place(String city, @Nullable Integer days) {}

    record Forecast(String city, List<Double> degrees) {}

    public static void main(String[] arguments) throws Exception {
      try (var server = new Server("weather", "1.0")) {
        server.tool(
            "forecast",
            "",
            Place.class,
            Forecast.class,
            (context, place) -> {
              context.progress(1);
              var answer = context.elicit("Fahrenheit?", Place.class).content();
              return new Forecast(answer == null ? place.city() : answer.city(), List.of(1.5));
            });
        server.tool("fails", "", (context, given) -> Files.readString(Path.of("missing")));
        server.resource("note", "notes://{name}", (context, request) -> request.variables());
        try (var listener = server.listen(options -> options.port(0))) {
          for (var revision : Arrays.asList(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
            try (var client =
                Client.connect(
                    listener.url(),
                    options ->
                        options
                            .revision(revision)
                            .onElicit(
                                request ->
                                    new ElicitResult(ElicitAction.ACCEPT)
                                        .withContent(Map.of("city", "Oslo"))))) {
              call(client);
            }
          }
        }
      }
      System.out.println("all well");
    }

    private static void call(Client client) throws Exception {
      client.listTools();
      var changes = client.subscribe(new SubscriptionFilter().withTools(true));
      var forecast = client.callTool("forecast", new Place("Rome", null), Forecast.class);
      require(forecast.equals(new Forecast("Oslo", List.of(1.5))), forecast);
      changes.close();
      var later = client.callToolAsync("fails").get(30, TimeUnit.SECONDS);
      require(later.isError(), later);
      var note = client.readResource("notes://a");
      require(!note.contents().isEmpty(), note);
    }

    private static void require(boolean isSo, Object value) {
      if (!isSo) {
        throw new IllegalStateException(value.toString());
      }
    }
  }
}

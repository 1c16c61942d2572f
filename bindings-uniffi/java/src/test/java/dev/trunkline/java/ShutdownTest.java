package dev.trunkline.java;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ShutdownTest {
  private static final String JAVA =
      Path.of(System.getProperty("java.home"), "bin/java").toString();

  /** An application in a container, with its own class loader. */
  public static final class Application implements Callable<String> {
    record Place(String city, List<String> streets) {}

    @Override
    public String call() throws Exception {
      String last;
      try (var server = new Server("weather", "1")) {
        server.tool("forecast", "", Place.class, (context, place) -> "Rain in " + place.city());
        try (var listener = server.listen(options -> options.port(0));
            var client = Client.connect(listener.url());
            var near = Client.connect(Target.server(server))) {
          Log.setLogger(record -> {});
          var given = new Place("Oslo", List.of());
          near.callToolAsync("forecast").get(30, TimeUnit.SECONDS);
          last = client.callTool("forecast", given, String.class);
        }
      }
      Trunkline.shutdown();
      Trunkline.shutdown();
      assertThrows(ClosedException.class, () -> new Server("weather", "1"));
      return last;
    }
  }

  static final class Container {
    private Container() {}

    public static void main(String[] arguments) throws Exception {
      // The JDK's thread for processes, which JNA starts, keeps the class loader of its first user.
      new ProcessBuilder(JAVA, "-version").redirectErrorStream(true).start().waitFor();
      var queue = new ReferenceQueue<ClassLoader>();
      var loader = run(queue);
      var deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
      do {
        System.gc();
      } while (queue.remove(20) == null && System.nanoTime() < deadline);
      System.out.println(loader.get() == null ? "freed" : Thread.getAllStackTraces().keySet());
      System.exit(0);
    }

    private static WeakReference<ClassLoader> run(ReferenceQueue<ClassLoader> queue)
        throws Exception {
      var places = new ArrayList<URL>();
      for (var place : System.getProperty("java.class.path").split(File.pathSeparator)) {
        places.add(Path.of(place).toUri().toURL());
      }
      var platform = ClassLoader.getPlatformClassLoader();
      try (var loader = new URLClassLoader(places.toArray(URL[]::new), platform)) {
        var type = loader.loadClass(Application.class.getName());
        @SuppressWarnings("unchecked")
        var application = (Callable<String>) type.getConstructor().newInstance();
        var task = new FutureTask<>(application);
        // Thread locals of the application end with its thread.
        var thread = new Thread(task, "application");
        thread.setContextClassLoader(loader);
        thread.start();
        assertEquals("Rain in Oslo", task.get(60, TimeUnit.SECONDS));
        thread.join();
        return new WeakReference<>(loader, queue);
      }
    }
  }

  @Test
  void classLoadersAreFreed() throws Exception {
    var command =
        List.of(
            JAVA,
            // Soft references stay until memory is short.
            "-XX:SoftRefLRUPolicyMSPerMB=0",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djna.library.path=" + System.getProperty("jna.library.path", ""),
            "-cp",
            System.getProperty("java.class.path"),
            Container.class.getName());
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes()).trim();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertTrue(output.endsWith("freed"), output);
  }
}

// A tool that reports progress, and a client that cancels another one.
import dev.trunkline.java.Client;
import dev.trunkline.java.Context;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

class Progress {
  record Job(int files) {}

  static String copy(Context context, Job job) {
    for (var number = 1; number <= job.files(); number++) {
      context.progress(number, (double) job.files(), "file " + number);
    }
    return job.files() + " files are copied.";
  }

  static String watch(CountDownLatch stopped) throws InterruptedException {
    try {
      Thread.sleep(Long.MAX_VALUE);
    } finally {
      System.out.println("stopped watching");
      stopped.countDown();
    }
    return "never";
  }

  // Reports may be skipped if they arrive too fast, except the last.
  static void show(dev.trunkline.java.model.Progress report) {
    if (report.total() != null && report.progress() == report.total()) {
      System.out.printf("%.0f of %.0f: %s%n", report.progress(), report.total(), report.message());
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    try (var server = new Server("files", "1.0.0")) {
      var started = new CountDownLatch(1);
      var stopped = new CountDownLatch(1);
      server.tool("copy", "Copy files.", Job.class, Progress::copy);
      server.tool(
          "watch",
          "Watch a folder until the caller cancels.",
          (context, given) -> {
            started.countDown();
            return watch(stopped);
          });

      try (var client = Client.connect(Target.server(server))) {
        var copied =
            client.callTool(
                "copy", Map.of("files", 2), options -> options.onProgress(Progress::show));
        System.out.println(copied.text());

        var call = client.callToolAsync("watch");
        started.await();
        call.cancel(true);
        stopped.await();
      }
    }
  }
}

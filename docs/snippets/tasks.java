// A tool called as a task: the client follows its status, then gets the result.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.Target;
import dev.trunkline.java.model.TaskStatus;
import dev.trunkline.java.model.TaskSupport;
import java.time.Duration;
import java.util.Map;

class Tasks {
  record Report(int year) {}

  public static void main(String[] arguments) {
    var interval = Duration.ofMillis(50);
    try (var server =
        new Server("reports", "1.0.0", options -> options.taskPollInterval(interval))) {
      server.tool(
          "report",
          "Write the report of a year.",
          Report.class,
          options -> options.task(TaskSupport.OPTIONAL),
          (context, report) -> {
            context.setTaskMessage("half of it is written");
            Thread.sleep(100);
            return "The report of " + report.year();
          });

      try (var client = Client.connect(Target.server(server));
          var task = client.startTask("report", Map.of("year", 2026))) {
        TaskStatus last = null;
        for (var state : task) {
          last = state.status(); // with `statusMessage()`, for people
        }
        System.out.println(last);
        System.out.println(task.result().text());
      }
    }
  }
}

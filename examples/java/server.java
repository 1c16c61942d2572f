import dev.trunkline.java.Context;
import dev.trunkline.java.ToolException;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A server with one tool. Over stdio: java Server; over HTTP: java Server 8000 */
class Server {
  static final Map<String, String> CITIES = new TreeMap<>(Map.of("Oslo", "snow", "Rome", "sunny"));

  record Request(String city, Optional<Integer> days) {}

  static String forecast(Context context, Request request) {
    var weather = CITIES.get(request.city());
    if (weather == null) {
      var known = String.join(" or ", CITIES.keySet());
      throw new ToolException("no forecast for " + request.city() + "; try " + known);
    }
    int days = request.days().orElse(3);
    var lines = new ArrayList<String>();
    for (var day = 1; day <= days; day++) {
      context.progress(day, (double) days, null);
      lines.add("day " + day + ": " + weather);
    }
    return String.join("\n", lines);
  }

  public static void main(String[] arguments) {
    var server = new dev.trunkline.java.Server("weather", "1.0.0");
    server.tool("forecast", "Forecast the weather of a city.", Request.class, Server::forecast);

    if (arguments.length == 0) {
      server.serveStdio();
      return;
    }
    var listener = server.listen(options -> options.port(Integer.parseInt(arguments[0])));
    System.out.println("listening at " + listener.url());
    listener.run();
  }
}

// A server for containers: configured by environment variables, stopped by SIGTERM.
import dev.trunkline.java.Server;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;

class DeployedServer {
  record Guest(String name) {}

  public static void main(String[] arguments) throws UnknownHostException {
    var store = System.getenv("STORE");
    var port = System.getenv("PORT");
    var host = InetAddress.getLocalHost().getHostName();
    var server =
        new Server(
            "greeter",
            "1.0.0",
            options -> {
              // On shutdown, calls get 20 s; other workers take over the sessions through the
              // store.
              options.drainDeadline(Duration.ofSeconds(20));
              if (store != null) {
                options.store(store);
              }
            });
    server.tool(
        "greet",
        "Greet someone.",
        Guest.class,
        (context, guest) -> "Hello, " + guest.name() + ", from " + host + "!");

    // Listens on all addresses of the container, with probes at /healthz and /readyz.
    server.serveHttp(
        options ->
            options
                .host("0.0.0.0")
                .port(port == null ? 8000 : Integer.parseInt(port))
                .health(true));
  }
}

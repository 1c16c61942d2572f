// A server over HTTP that reads a request header in each call, and its client.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import java.util.Map;

class OverHttp {
  public static void main(String[] arguments) {
    try (var server = new Server("tenants", "1.0.0")) {
      server.tool(
          "tenant",
          "Name the tenant of the caller.",
          (context, given) ->
              context.headers().getOrDefault("x-tenant", "nobody") + " at " + context.url());

      try (var listener = server.listen(options -> options.port(0).path("/notes"));
          var client =
              Client.connect(
                  listener.url(),
                  options -> options.endpoint(http -> http.headers(Map.of("X-Tenant", "acme"))))) {
        System.out.println(client.callTool("tenant").text());
        System.out.println(client.revision());
      }
    }
  }
}

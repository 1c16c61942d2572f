// A server over HTTP that requires access tokens, with a tool that requires a scope.
import dev.trunkline.java.AuthOptions;
import dev.trunkline.java.AuthorizationRequiredException;
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.TokenVerificationRequest;
import dev.trunkline.java.model.Identity;
import java.util.List;

class AccessTokens {
  // Replaces the built-in JWT verifier, for opaque tokens stored in your database.
  static Identity verify(TokenVerificationRequest request) {
    return request.token().equals("token-of-ada")
        ? new Identity().withSubject("ada").withScopes(List.of("read"))
        : null;
  }

  static void configure(AuthOptions auth) {
    auth.resource("http://127.0.0.1/mcp")
        .authorizationServers(List.of("https://login.example.com"))
        .verifier(AccessTokens::verify);
  }

  public static void main(String[] arguments) {
    try (var server = new Server("files", "1.0.0")) {
      server.tool(
          "whoami",
          "Name the caller.",
          (context, given) -> context.auth() == null ? "nobody" : context.auth().subject());
      server.tool(
          "delete",
          "Delete all files.",
          options -> options.scopes(List.of("write")),
          (context, given) -> "deleted");

      try (var listener = server.listen(options -> options.port(0).auth(AccessTokens::configure))) {
        var url = listener.url();
        try (var client =
            Client.connect(url, options -> options.auth(auth -> auth.token("token-of-ada")))) {
          client.listTools().forEach(tool -> System.out.println(tool.name()));
          System.out.println(client.callTool("whoami").text());
        }
        try {
          Client.connect(url).close();
        } catch (AuthorizationRequiredException error) {
          System.out.println(error.httpStatus());
        }
      }
    }
  }
}

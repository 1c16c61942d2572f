// A client that gets access tokens from a function, and a new one when the server refuses one.
import dev.trunkline.java.Client;
import dev.trunkline.java.Server;
import dev.trunkline.java.TokenVerificationRequest;
import dev.trunkline.java.model.Identity;
import dev.trunkline.java.model.Token;
import dev.trunkline.java.model.TokenRequest;
import java.util.List;

class Tokens {
  static String token = "token-of-yesterday";

  static Token give(TokenRequest request) {
    if (request.refused()) {
      System.out.println("the token was refused"); // here the program gets a new token
      token = "token-of-today";
    }
    return new Token(token);
  }

  static Identity verify(TokenVerificationRequest request) {
    return request.token().equals("token-of-today") ? new Identity().withSubject("ada") : null;
  }

  public static void main(String[] arguments) {
    try (var server = new Server("files", "1.0.0")) {
      server.tool("whoami", "Name the caller.", (context, given) -> context.auth().subject());

      try (var listener =
              server.listen(
                  options ->
                      options
                          .port(0)
                          .auth(
                              auth ->
                                  auth.resource("http://127.0.0.1/mcp")
                                      .authorizationServers(List.of("https://login.example.com"))
                                      .verifier(Tokens::verify)));
          var client =
              Client.connect(listener.url(), options -> options.onAccessToken(Tokens::give))) {
        System.out.println(client.callTool("whoami").text());
      }
    }
  }
}

import dev.trunkline.java.Client;

/**
 * Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
 * tokens.
 */
class Login {
  public static void main(String[] arguments) {
    try (var client =
        Client.connect(
            arguments[0],
            options -> options.auth(auth -> auth.clientName("Tool list").store("file")))) {
      client.listTools().forEach(tool -> System.out.println(tool.name()));
    }
  }
}

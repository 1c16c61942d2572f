package dev.trunkline.java;

import dev.trunkline.jvm.JvmClient;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A connection to a server.
 *
 * <pre>{@code
 * try (var client = Client.connect("https://example.com/mcp")) {
 *   System.out.println(client.callTool("forecast", Map.of("city", "Oslo")).content());
 * }
 * }</pre>
 */
public final class Client extends ConnectedClient {
  private Client(JvmClient jvm) {
    super(jvm);
  }

  /** Connects to a server at a URL. */
  public static Client connect(String url) {
    return connect(Target.url(url), options -> {});
  }

  /** Connects to a server at a URL, with options. */
  public static Client connect(String url, Consumer<ClientOptions> options) {
    return connect(Target.url(url), options);
  }

  /** Connects to a server. */
  public static Client connect(Target target) {
    return connect(target, options -> {});
  }

  /** Connects to a server, with options. */
  public static Client connect(Target target, Consumer<ClientOptions> options) {
    return Futures.wait(connectAsync(target, options));
  }

  /** Connects to a server, with options. Cancelling the future ends the attempt. */
  public static CompletableFuture<Client> connectAsync(
      Target target, Consumer<ClientOptions> options) {
    var given = Options.with(new ClientOptions(), options);
    var transport = target.transport(given);
    return open(transport, given, target.functions, target.local, Client::new);
  }
}

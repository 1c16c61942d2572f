package dev.trunkline.java;

import dev.trunkline.jvm.JvmClient;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A client of many servers, which routes each request to the right one.
 *
 * <p>Tools and prompts are named {@code server__name}, and resources are {@code server+uri}. A
 * server that cannot be reached does not affect the others: {@link #servers()} has its error, and
 * the next request to it reconnects. Handlers such as {@code onElicit} answer all servers; the
 * {@code serverName} of a request names the one that asks.
 */
public final class ClientGroup extends GroupOperations {
  private ClientGroup(JvmClient jvm) {
    super(jvm);
  }

  /** Connects to servers by name, with the default options. */
  public static ClientGroup connect(Map<String, Target> servers) {
    return connect(servers, options -> {});
  }

  /** Connects to servers by name. The options apply to each connection. */
  public static ClientGroup connect(Map<String, Target> servers, Consumer<ClientOptions> options) {
    var targets = new LinkedHashMap<String, Object>();
    servers.forEach((name, target) -> targets.put(name, target.ofGroup()));
    return connectTo(targets, options);
  }

  /** Connects to the servers of a configuration with {@code mcpServers}. */
  public static ClientGroup connectConfiguration(
      Map<String, Object> configuration, Consumer<ClientOptions> options) {
    return connectTo(configuration, options);
  }

  /** Connects to the servers of a file with {@code mcpServers}. */
  public static ClientGroup connect(Path configuration, Consumer<ClientOptions> options) {
    return connectTo(configuration.toString(), options);
  }

  private static ClientGroup connectTo(Object servers, Consumer<ClientOptions> options) {
    var given = Options.with(new ClientOptions(), options);
    var transport =
        Json.object("type", "group", "servers", servers, "defaults", given.ofTransport());
    return Futures.wait(open(transport, given, Map.of(), null, ClientGroup::new));
  }

  /**
   * Adds a server. If connecting to it fails, it stays in the group, and the next request to it
   * reconnects.
   */
  public void addServer(String name, Target target) {
    var params = Json.object("name", name, "target", target.ofGroup());
    Futures.wait(requester().request("add_server", params, options -> {}));
  }
}

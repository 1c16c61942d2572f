package dev.trunkline.java;

import dev.trunkline.jvm.JvmFunction;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The target of a client's connection. */
public final class Target {
  /** The message about the transport, without options; empty if only a group can connect. */
  private final Map<String, Object> transport;

  /** The target as a server of a group; null if a group cannot connect. */
  private final @Nullable Object server;

  /** The functions of a transport of the program. */
  final Map<String, JvmFunction> functions;

  /** The server in this process. */
  final @Nullable Server local;

  private Target(
      Map<String, Object> transport,
      @Nullable Object server,
      Map<String, JvmFunction> functions,
      @Nullable Server local) {
    this.transport = transport;
    this.server = server;
    this.functions = functions;
    this.local = local;
  }

  private Target(Map<String, Object> transport, Object server) {
    this(transport, server, Map.of(), null);
  }

  /** A server at a URL. */
  public static Target url(String url) {
    return new Target(Json.object("type", "http", "url", url), url);
  }

  /** A program that serves over its stdin and stdout. */
  public static Target command(List<String> command) {
    return new Target(Json.object("type", "child", "command", command), List.copyOf(command));
  }

  /** A program that serves over its stdin and stdout. */
  public static Target command(String... command) {
    return command(List.of(command));
  }

  /** A server in this process. */
  public static Target server(Server server) {
    var transport = Json.object("type", "memory", "server", server.jvm.getHandle());
    return new Target(transport, null, Map.of(), server);
  }

  /**
   * A server of a configuration: an entry of {@code mcpServers}, or a configuration with one
   * server.
   */
  public static Target configuration(Map<String, Object> configuration) {
    return new Target(Json.object("type", "config", "server", configuration), configuration);
  }

  /** A custom transport. */
  public static Target transport(Transport transport) {
    return new Target(
        Map.of("type", "channel"),
        null,
        Callables.of(Failures.given("the transport", transport)),
        null);
  }

  /** A client, whose connection a group shares and does not close. */
  public static Target client(ConnectedClient client) {
    return new Target(Map.of(), Json.object("connection", client.jvm.getHandle()));
  }

  /** The message about the transport of a client. */
  Map<String, Object> transport(ClientOptions options) {
    if (transport.isEmpty()) {
      throw new InvalidArgumentException("only a group connects to a client");
    }
    var message = new LinkedHashMap<>(transport);
    if (transport.get("type").equals("config")) {
      message.put("defaults", options.ofTransport());
    } else {
      // The core refuses those of another transport.
      message.putAll(options.ofTransport());
    }
    return message;
  }

  /** The target as a server of a group. */
  Object ofGroup() {
    if (server == null) {
      throw new InvalidArgumentException(
          "a group connects to URLs, commands and configurations: for anything else, connect a client,"
              + " and pass Target.client");
    }
    return server;
  }
}

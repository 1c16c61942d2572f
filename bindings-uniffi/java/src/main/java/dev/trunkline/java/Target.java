package dev.trunkline.java;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a client connects to. */
public sealed interface Target {
  /** A server at a URL. */
  static Target url(String url) {
    return new Url(url);
  }

  /** A program that serves over its stdin and stdout. */
  static Target command(List<String> command) {
    return new Command(List.copyOf(command));
  }

  /** A program that serves over its stdin and stdout. */
  static Target command(String... command) {
    return command(List.of(command));
  }

  /** A server in this process. */
  static Target server(Server server) {
    return new InMemory(server);
  }

  /**
   * A server of a configuration: an entry of {@code mcpServers}, or a configuration with one
   * server.
   */
  static Target configuration(Map<String, Object> configuration) {
    return new Configured(configuration);
  }

  /** A transport of the program. */
  static Target transport(Transport transport) {
    return new Custom(transport);
  }

  /** A client, whose connection a group shares and does not close. */
  static Target client(ConnectedClient client) {
    return new Shared(client);
  }

  /** The message about the transport of a client. */
  Map<String, Object> transport(ClientOptions options);

  /** The target as a server of a group. */
  default Object ofGroup() {
    throw new InvalidArgumentException(
        "a group connects to URLs, commands and configurations: for anything else, connect a client,"
            + " and pass Target.client");
  }

  /** See {@link #url(String)}. */
  record Url(String url) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      var transport = Json.object("type", "http", "url", url);
      transport.putAll(options.endpoint.values);
      return transport;
    }

    @Override
    public Object ofGroup() {
      return url;
    }
  }

  /** See {@link #command(List)}. */
  record Command(List<String> command) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      var transport = Json.object("type", "child", "command", command);
      transport.putAll(options.process.values);
      return transport;
    }

    @Override
    public Object ofGroup() {
      return command;
    }
  }

  /** See {@link #server(Server)}. */
  record InMemory(Server server) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      return Json.object("type", "memory", "server", server.jvm.getHandle());
    }
  }

  /** See {@link #configuration(Map)}. */
  record Configured(Map<String, Object> configuration) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      return Json.object("type", "config", "server", configuration);
    }

    @Override
    public Object ofGroup() {
      return configuration;
    }
  }

  /** See {@link #transport(Transport)}. */
  record Custom(Transport custom) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      return Json.object("type", "channel");
    }
  }

  /** See {@link #client(ConnectedClient)}. */
  record Shared(ConnectedClient client) implements Target {
    @Override
    public Map<String, Object> transport(ClientOptions options) {
      throw new InvalidArgumentException("only a group connects to a client");
    }

    @Override
    public @Nullable Object ofGroup() {
      return Json.object("connection", client.jvm.getHandle());
    }
  }
}

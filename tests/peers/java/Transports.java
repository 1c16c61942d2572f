package peer.java;

import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpServerSession;
import io.modelcontextprotocol.spec.McpServerTransportProvider;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Transports of the SDK for a given revision: the SDK asks for the last one of its transport. */
final class Transports {
  private static final List<String> ALL =
      List.of(
          ProtocolVersions.MCP_2024_11_05,
          ProtocolVersions.MCP_2025_03_26,
          ProtocolVersions.MCP_2025_06_18,
          ProtocolVersions.MCP_2025_11_25);

  private Transports() {}

  static McpClientTransport of(List<String> target, String revision, String token) {
    var revisions = revision.equals("auto") ? ALL : List.of(revision);
    return new OfClient(open(target, revisions, token), revisions);
  }

  @SuppressWarnings("deprecation") // HTTP+SSE itself
  private static McpClientTransport open(
      List<String> target, List<String> revisions, String token) {
    var mapper = McpJsonDefaults.getMapper();
    if (target.get(0).equals("--stdio")) {
      var command = ServerParameters.builder(target.get(1)).args(target.subList(2, target.size()));
      return new StdioClientTransport(command.env(System.getenv()).build(), mapper);
    }
    var url = URI.create(target.get(0));
    var origin = url.resolve("/").toString();
    var request = HttpRequest.newBuilder();
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    if (url.getPath().endsWith("/sse")) {
      return HttpClientSseClientTransport.builder(origin)
          .sseEndpoint(url.getPath())
          .requestBuilder(request)
          .build();
    }
    return HttpClientStreamableHttpTransport.builder(origin)
        .endpoint(url.getPath())
        .supportedProtocolVersions(revisions)
        .requestBuilder(request)
        .build();
  }

  record OfClient(McpClientTransport inner, List<String> protocolVersions)
      implements McpClientTransport {
    @Override
    public Mono<Void> connect(Function<Mono<JSONRPCMessage>, Mono<JSONRPCMessage>> handler) {
      return inner.connect(handler);
    }

    @Override
    public void setExceptionHandler(Consumer<Throwable> handler) {
      inner.setExceptionHandler(handler);
    }

    @Override
    public Mono<Void> sendMessage(JSONRPCMessage message) {
      return inner.sendMessage(message);
    }

    @Override
    public Mono<Void> closeGracefully() {
      return inner.closeGracefully();
    }

    @Override
    public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
      return inner.unmarshalFrom(data, type);
    }
  }

  /** Each revision over HTTP+SSE, where the SDK serves 2024-11-05 by itself. */
  record OverSse(McpServerTransportProvider inner) implements McpServerTransportProvider {
    @Override
    public List<String> protocolVersions() {
      return ALL;
    }

    @Override
    public void setSessionFactory(McpServerSession.Factory factory) {
      inner.setSessionFactory(factory);
    }

    @Override
    public Mono<Void> notifyClients(String method, Object params) {
      return inner.notifyClients(method, params);
    }

    @Override
    public Mono<Void> notifyClient(String session, String method, Object params) {
      return inner.notifyClient(session, method, params);
    }

    @Override
    public Mono<Void> closeGracefully() {
      return inner.closeGracefully();
    }
  }

  /** Each revision over Streamable HTTP, where the SDK serves those after 2024-11-05 by itself. */
  record OverHttp(McpStreamableServerTransportProvider inner)
      implements McpStreamableServerTransportProvider {
    @Override
    public List<String> protocolVersions() {
      return ALL;
    }

    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory factory) {
      inner.setSessionFactory(factory);
    }

    @Override
    public Mono<Void> notifyClients(String method, Object params) {
      return inner.notifyClients(method, params);
    }

    @Override
    public Mono<Void> notifyClient(String session, String method, Object params) {
      return inner.notifyClient(session, method, params);
    }

    @Override
    public Mono<Void> closeGracefully() {
      return inner.closeGracefully();
    }
  }
}

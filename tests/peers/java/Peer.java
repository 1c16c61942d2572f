package peer.java;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import jakarta.servlet.http.HttpServlet;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** The official Java SDK. Usage: see ../README.md. */
final class Peer {
  private static final String USAGE =
      "usage: server stdio | server http PORT [--auth FILE] | server sse PORT | client --play FILE URL | client --play FILE --stdio COMMAND...";

  private Peer() {}

  public static void main(String[] arguments) throws Exception {
    var words = List.of(arguments);
    var mode = words.size() < 2 ? "" : String.join(" ", words.subList(0, 2));
    switch (mode) {
      case "server stdio" -> serveStdio();
      case "server http" -> serve(words.get(2), "/mcp", streamable(words.subList(3, words.size())));
      case "server sse" -> serve(words.get(2), "/sse", sse());
      case "client --play" -> Player.playFile(words.get(2), words.subList(3, words.size()));
      default -> throw new IllegalArgumentException(USAGE);
    }
  }

  private static void serveStdio() throws InterruptedException {
    var input = new Ending(System.in);
    var transport =
        new StdioServerTransportProvider(McpJsonDefaults.getMapper(), input, System.out);
    Features.offer(McpServer.sync(transport));
    input.end.await();
    System.exit(0); // does not wait for what the SDK leaves running
  }

  /** Input whose end can be awaited, which the SDK does not tell. */
  private static final class Ending extends FilterInputStream {
    final CountDownLatch end = new CountDownLatch(1);

    Ending(InputStream input) {
      super(input);
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      var read = super.read(buffer, offset, length);
      if (read < 0) {
        end.countDown();
      }
      return read;
    }
  }

  private static HttpServlet streamable(List<String> words) throws IOException {
    var transport = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp");
    if (words.size() == 2 && words.get(0).equals("--auth")) {
      var given =
          McpJsonDefaults.getMapper().readValue(Files.readString(Path.of(words.get(1))), Map.class);
      transport.httpHeaderValidator(protection((String) given.get("token")));
      transport.contextExtractor(request -> McpTransportContext.create(Map.of("caller", "ada")));
    }
    var servlet = transport.build();
    Features.offer(McpServer.sync(new Transports.OverHttp(servlet)));
    return servlet;
  }

  /** Requires an access token. */
  private static ServerHttpHeaderValidator protection(String token) {
    return headers -> {
      if (!headers.getHeader("Authorization").contains("Bearer " + token)) {
        throw new ServerTransportSecurityException(401, "no valid access token");
      }
    };
  }

  @SuppressWarnings("deprecation") // HTTP+SSE itself
  private static HttpServlet sse() {
    var servlet =
        HttpServletSseServerTransportProvider.builder()
            .sseEndpoint("/sse")
            .messageEndpoint("/message")
            .build();
    Features.offer(McpServer.sync(new Transports.OverSse(servlet)));
    return servlet;
  }

  private static void serve(String port, String path, HttpServlet servlet) throws Exception {
    var web = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)));
    var context = new ServletContextHandler();
    var holder = new ServletHolder(servlet);
    holder.setAsyncSupported(true);
    context.addServlet(holder, "/*");
    web.setHandler(context);
    web.start();
    System.out.println("listening http://127.0.0.1:" + web.getURI().getPort() + path);
    web.join();
  }
}

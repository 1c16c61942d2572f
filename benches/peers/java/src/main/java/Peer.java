import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.HttpServletStatelessServerTransport;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import jakarta.servlet.http.HttpServlet;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/**
 * The official Java SDK. Usage: stdio | http PORT [stateless] [--tools N], or as a client: client N
 * INFLIGHT -- COMMAND... | client N INFLIGHT URL
 */
final class Peer {
  private Peer() {}

  record Offer(Tool tool, Function<Map<String, Object>, String> run) {
    CallToolResult answer(CallToolRequest request) {
      return CallToolResult.builder().addTextContent(run.apply(request.arguments())).build();
    }
  }

  public static void main(String[] arguments) throws Exception {
    var words = Arrays.asList(arguments);
    switch (words.get(0)) {
      case "stdio" -> serveStdio(words);
      case "http" -> serveHttp(words);
      case "client" -> callAll(words);
      default -> throw new IllegalArgumentException("stdio | http PORT | client N INFLIGHT TARGET");
    }
  }

  private static List<Offer> offers(List<String> words) {
    Function<Map<String, Object>, String> add =
        given -> String.valueOf(number(given.get("a")) + number(given.get("b")));
    var found = new ArrayList<Offer>();
    found.add(
        new Offer(
            tool("echo", "Echo the message back", Map.of("message", "string")),
            given -> (String) given.get("message")));
    found.add(new Offer(tool("add", "Add two integers", integers()), add));
    var at = words.indexOf("--tools");
    for (var i = 0; i < (at < 0 ? 0 : Integer.parseInt(words.get(at + 1))); i++) {
      var name = String.format("tool_%03d", i);
      found.add(new Offer(tool(name, "Generated tool number " + i, integers()), add));
    }
    return found;
  }

  private static long number(Object given) {
    return ((Number) given).longValue();
  }

  private static Map<String, String> integers() {
    var members = new LinkedHashMap<String, String>();
    members.put("a", "integer");
    members.put("b", "integer");
    return members;
  }

  private static Tool tool(String name, String description, Map<String, String> members) {
    var properties = new LinkedHashMap<String, Object>();
    members.forEach((member, type) -> properties.put(member, Map.of("type", type)));
    Map<String, Object> schema =
        Map.of("type", "object", "properties", properties, "required", List.copyOf(members.keySet()));
    return Tool.builder(name, schema).description(description).build();
  }

  private static void serveStdio(List<String> words) throws InterruptedException {
    var transport = new StdioServerTransportProvider(McpJsonDefaults.getMapper());
    var server = McpServer.sync(transport).serverInfo("bench", "0.0.0");
    offers(words)
        .forEach(offer -> server.toolCall(offer.tool(), (exchange, call) -> offer.answer(call)));
    server.build();
    Thread.currentThread().join();
  }

  private static void serveHttp(List<String> words) throws Exception {
    HttpServlet servlet;
    if (words.contains("stateless")) {
      var transport = HttpServletStatelessServerTransport.builder().messageEndpoint("/mcp").build();
      var server = McpServer.sync(transport).serverInfo("bench", "0.0.0");
      offers(words)
          .forEach(offer -> server.toolCall(offer.tool(), (context, call) -> offer.answer(call)));
      server.build();
      servlet = transport;
    } else {
      var transport =
          HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
      var server = McpServer.sync(transport).serverInfo("bench", "0.0.0");
      offers(words)
          .forEach(offer -> server.toolCall(offer.tool(), (exchange, call) -> offer.answer(call)));
      server.build();
      servlet = transport;
    }
    var web = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(words.get(1))));
    var context = new ServletContextHandler();
    var holder = new ServletHolder(servlet);
    holder.setAsyncSupported(true);
    context.addServlet(holder, "/*");
    web.setHandler(context);
    web.start();
    web.join();
  }

  private static McpSyncClient connected(List<String> target) {
    if (target.get(0).equals("--")) {
      var command = ServerParameters.builder(target.get(1)).args(target.subList(2, target.size()));
      return McpClient.sync(new StdioClientTransport(command.build(), McpJsonDefaults.getMapper()))
          .build();
    }
    var url = URI.create(target.get(0));
    var transport =
        HttpClientStreamableHttpTransport.builder(url.resolve("/").toString())
            .endpoint(url.getPath());
    return McpClient.sync(transport.build()).build();
  }

  private static void callAll(List<String> words) throws IOException {
    var calls = Integer.parseInt(words.get(1));
    var inFlight = Integer.parseInt(words.get(2));
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var client = connected(words.subList(3, words.size()));
    client.initialize();
    IntStream.range(0, 200).forEach(number -> call(client, number));
    System.out.println("READY");
    input.readLine();
    var threads = Executors.newFixedThreadPool(inFlight);
    var all =
        IntStream.range(0, inFlight)
            .mapToObj(
                first ->
                    CompletableFuture.runAsync(
                        () -> {
                          for (var number = first; number < calls; number += inFlight) {
                            call(client, number);
                          }
                        },
                        threads));
    CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
    threads.shutdown();
    System.out.println("DONE");
    while (input.readLine() != null) {
      // The end of the input ends the program.
    }
    client.closeGracefully();
    System.exit(0);
  }

  private static void call(McpSyncClient client, int number) {
    var request =
        CallToolRequest.builder("echo").arguments(Map.of("message", "m" + number)).build();
    var text = ((TextContent) client.callTool(request).content().get(0)).text();
    if (!text.equals("m" + number)) {
      throw new IllegalStateException("wrong text: " + text);
    }
  }
}

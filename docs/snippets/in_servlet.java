// A server as a servlet in Jetty, and a client that calls it.
import dev.trunkline.java.Client;
import dev.trunkline.java.McpServlet;
import dev.trunkline.java.Server;
import java.net.InetSocketAddress;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;

class InServlet {
  public static void main(String[] arguments) throws Exception {
    try (var server = new Server("mounted", "1.0.0")) {
      server.tool("hello", "Greets.", (context, given) -> "Hello from a servlet");

      var web = new org.eclipse.jetty.server.Server(new InetSocketAddress("127.0.0.1", 0));
      var context = new ServletContextHandler();
      var servlet = new McpServlet(server.endpoint(options -> {}));
      context.addServlet(new ServletHolder(servlet), "/mcp/*");
      web.setHandler(context);
      web.start();
      try (var client = Client.connect(web.getURI().resolve("/mcp/").toString())) {
        System.out.println(client.callTool("hello").text());
      }
      web.stop();
    }
  }
}

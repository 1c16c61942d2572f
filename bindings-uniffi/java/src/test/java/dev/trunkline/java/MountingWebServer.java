package dev.trunkline.java;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.gzip.GzipHandler;
import org.jspecify.annotations.Nullable;

/** The web servers of {@link MountsTest}, which serve at {@code /api/v1/mcp}. */
enum MountingWebServer {
  JETTY("Jetty") {
    @Override
    Running start(MountsTest.Site site) throws Exception {
      var jetty = new org.eclipse.jetty.server.Server(new InetSocketAddress("127.0.0.1", 0));
      var context = new ServletContextHandler();
      context.setContextPath("/api/v1");
      context.addServlet(new ServletHolder(new McpServlet(site.endpoint)), "/mcp/*");
      var filter = new FilterHolder(new Watching(site));
      filter.setAsyncSupported(true);
      context.addFilter(filter, "/*", EnumSet.of(DispatcherType.REQUEST, DispatcherType.ASYNC));
      jetty.setHandler(isCompressing(site) ? new GzipHandler(context) : context);
      jetty.start();
      var port = ((ServerConnector) jetty.getConnectors()[0]).getLocalPort();
      return new Running(port, jetty::stop);
    }
  },

  TOMCAT("Tomcat") {
    @Override
    Running start(MountsTest.Site site) throws Exception {
      var folder = Files.createTempDirectory("tomcat");
      var tomcat = new Tomcat();
      tomcat.setBaseDir(folder.toString());
      // Otherwise the folder of the first server, which may be gone.
      System.setProperty("catalina.home", System.getProperty("java.io.tmpdir"));
      // Servers of one process need different names in JMX.
      tomcat.getEngine().setName("Tomcat-" + folder.getFileName());
      tomcat.setPort(0);
      var connector = tomcat.getConnector();
      connector.setProperty("address", "127.0.0.1");
      connector.addUpgradeProtocol(new Http2Protocol());
      if (isCompressing(site)) {
        connector.setProperty("compression", "on");
      }
      var context = tomcat.addContext("/api/v1", folder.toString());
      var servlet = Tomcat.addServlet(context, "mcp", new McpServlet(site.endpoint));
      servlet.setAsyncSupported(true);
      servlet.addMapping("/mcp/*");
      var filter = new FilterDef();
      filter.setFilterName("watching");
      filter.setFilter(new Watching(site));
      filter.setAsyncSupported("true");
      context.addFilterDef(filter);
      var everything = new FilterMap();
      everything.setFilterName("watching");
      everything.addURLPattern("/*");
      context.addFilterMap(everything);
      tomcat.start();
      return new Running(
          connector.getLocalPort(),
          () -> {
            tomcat.stop();
            tomcat.destroy();
            try (var files = Files.walk(folder)) {
              files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
          });
    }
  },

  JDK("the JDK's web server") {
    @Override
    Running start(MountsTest.Site site) throws Exception {
      var web = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
      var threads = Executors.newCachedThreadPool();
      web.setExecutor(threads);
      var handler = site.endpoint.toHandler();
      var context =
          web.createContext(
              "/api/v1/mcp",
              exchange -> {
                site.begun.add("");
                try {
                  handler.handle(exchange);
                } finally {
                  site.ended.add("");
                }
              });
      if (site.row.play().equals("deadline")) {
        context.getFilters().add(new Interrupting(site));
      }
      web.start();
      return new Running(
          web.getAddress().getPort(),
          () -> {
            web.stop(0);
            threads.shutdownNow();
          });
    }
  };

  final String title;

  MountingWebServer(String title) {
    this.title = title;
  }

  abstract Running start(MountsTest.Site site) throws Exception;

  private static boolean isCompressing(MountsTest.Site site) {
    return site.row.play().equals("compression");
  }

  /** How a web server stops. */
  @FunctionalInterface
  interface Stop {
    void stop() throws Exception;
  }

  /** A web server that listens at a port. */
  record Running(int port, Stop stop) implements AutoCloseable {
    @Override
    public void close() {
      try {
        stop.stop();
      } catch (Exception failed) {
        throw new IllegalStateException(failed);
      }
    }
  }

  /** Tells the site when requests begin and end, and has the deadline of its case. */
  private record Watching(MountsTest.Site site) implements Filter {
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      // A request that fails is dispatched again, after which Jetty completes nothing.
      var ended = (Ended) request.getAttribute(Ended.class.getName());
      if (ended == null) {
        ended = new Ended(site, new AtomicBoolean());
        request.setAttribute(Ended.class.getName(), ended);
        site.begun.add("");
      }
      try {
        chain.doFilter(request, response);
      } finally {
        if (request.isAsyncStarted()) {
          var context = request.getAsyncContext();
          context.addListener(ended);
          var name = ((HttpServletRequest) request).getHeader("mcp-name");
          if (site.row.play().equals("deadline") && site.row.tool().equals(name)) {
            new Thread(() -> giveUp(context, response)).start();
          }
        } else {
          ended.onComplete(null);
        }
      }
    }

    private void giveUp(AsyncContext context, ServletResponse response) {
      try {
        MountsTest.Site.happened(site.started);
        ((HttpServletResponse) response).sendError(504);
        context.complete();
      } catch (IOException | InterruptedException failed) {
        throw new IllegalStateException(failed);
      }
    }
  }

  private record Ended(MountsTest.Site site, AtomicBoolean isOver) implements AsyncListener {
    @Override
    public void onComplete(@Nullable AsyncEvent event) {
      if (isOver.compareAndSet(false, true)) {
        site.ended.add("");
      }
    }

    @Override
    public void onTimeout(AsyncEvent event) {}

    @Override
    public void onError(AsyncEvent event) {}

    @Override
    public void onStartAsync(AsyncEvent event) {}
  }

  /** Interrupts the thread of a request after its deadline. */
  private static final class Interrupting extends com.sun.net.httpserver.Filter {
    private final MountsTest.Site site;

    private Interrupting(MountsTest.Site site) {
      this.site = site;
    }

    @Override
    public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
      if (!site.row.tool().equals(exchange.getRequestHeaders().getFirst("mcp-name"))) {
        chain.doFilter(exchange);
        return;
      }
      var answering = Thread.currentThread();
      var watching =
          new Thread(
              () -> {
                try {
                  MountsTest.Site.happened(site.started);
                  answering.interrupt();
                } catch (InterruptedException interrupt) {
                  throw new UncheckedIOException(new IOException(interrupt));
                }
              });
      watching.start();
      try {
        chain.doFilter(exchange);
      } catch (Exception late) {
        exchange.sendResponseHeaders(504, -1);
        exchange.close();
      }
    }

    @Override
    public String description() {
      return "a deadline";
    }
  }
}

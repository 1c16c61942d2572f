package dev.trunkline.java.spring;

import dev.trunkline.java.HttpEndpoint;
import dev.trunkline.java.McpServlet;
import dev.trunkline.java.Server;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.task.TaskDecorator;

/**
 * Serves the features of beans over HTTP. A {@link Server} bean replaces the server, for its
 * options; a {@link HttpEndpoint} bean the endpoint, for access tokens.
 */
@AutoConfiguration
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@Import({ServerConfiguration.class, HttpObservationConfiguration.class})
public class TrunklineAutoConfiguration {
  /** The endpoint, if the program has none. */
  @Bean
  @ConditionalOnMissingBean
  public HttpEndpoint trunklineEndpoint(Server server, TrunklineProperties properties) {
    return server.endpoint(
        options ->
            options
                .allowedHosts(properties.allowedHosts())
                .allowedOrigins(properties.allowedOrigins()));
  }

  /**
   * The servlet, at the path of the properties and below it. Its handlers have the security context
   * and logging context of the request, what Micrometer propagates, and what beans of {@link
   * TaskDecorator} add.
   */
  @Bean
  public ServletRegistrationBean<McpServlet> trunklineServlet(
      HttpEndpoint endpoint,
      TrunklineProperties properties,
      ObjectProvider<TaskDecorator> taskDecorators) {
    var path = properties.path().replaceAll("/+$", "");
    var decorator = ContextPropagation.taskDecorator(taskDecorators.orderedStream().toList());
    return new ServletRegistrationBean<>(new McpServlet(endpoint, decorator), path + "/*");
  }

  /** Closes the endpoint as the web server begins to wait for streams, which clients keep open. */
  @Bean
  public SmartLifecycle trunklineShutdown(HttpEndpoint endpoint) {
    return new Shutdown(endpoint);
  }

  private static final class Shutdown implements SmartLifecycle {
    private final HttpEndpoint endpoint;
    private volatile boolean isRunning;

    Shutdown(HttpEndpoint endpoint) {
      this.endpoint = endpoint;
    }

    /** The web server's phase. While earlier phases stop, a client would reopen the endpoint. */
    @Override
    public int getPhase() {
      return DEFAULT_PHASE - 1024;
    }

    @Override
    public void start() {
      isRunning = true;
    }

    @Override
    public void stop() {
      isRunning = false;
      endpoint.close();
    }

    @Override
    public boolean isRunning() {
      return isRunning;
    }
  }
}

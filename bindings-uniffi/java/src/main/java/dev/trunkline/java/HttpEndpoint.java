package dev.trunkline.java;

import com.sun.net.httpserver.HttpHandler;
import dev.trunkline.jvm.JvmEndpoint;
import java.time.Duration;

/**
 * A server in the program's own web server. It opens with the first request, and again after {@link
 * #close()}. {@link McpServlet} mounts it in a Jakarta servlet container.
 */
public final class HttpEndpoint implements AutoCloseable {
  final JvmEndpoint jvm;

  HttpEndpoint(JvmEndpoint jvm) {
    this.jvm = jvm;
  }

  /**
   * Returns the endpoint as a handler of the JDK's web server ({@code com.sun.net.httpserver}).
   * Each request, and each streaming response, occupies one of its threads. {@code stop} of that
   * server truncates responses: once the endpoint has closed, first shut down the executor and
   * await its termination.
   */
  public HttpHandler toHandler() {
    return jvm.toHandler();
  }

  /** Serves in the foreground, until SIGINT or SIGTERM closes it. */
  public void run() {
    jvm.run();
  }

  /**
   * Closes the endpoint. Calls in flight get all but the last fifth of the server's {@code
   * drainDeadline}.
   */
  @Override
  public void close() {
    jvm.close(null);
  }

  /** Closes the endpoint. Calls in flight get until the deadline. */
  public void close(Duration deadline) {
    jvm.close(Mapper.milliseconds(deadline));
  }
}

package dev.trunkline.java;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * A server as a servlet. Each request, and each streaming response, occupies a thread of the
 * container; with virtual threads that costs little. A client that disconnects is noticed at the
 * next write: on streams, within {@code keepAlive} of the server.
 */
public final class McpServlet extends HttpServlet {
  private static final long serialVersionUID = 1;
  private static final Set<String> SINGLE = Set.of("content-type", "access-control-allow-origin");

  private final transient HttpEndpoint endpoint;

  /** A servlet for the requests of an endpoint, which closes with it. */
  public McpServlet(HttpEndpoint endpoint) {
    this.endpoint = endpoint;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var headers = new ArrayList<Map.Entry<String, String>>();
    for (var name : Collections.list(request.getHeaderNames())) {
      for (var value : Collections.list(request.getHeaders(name))) {
        headers.add(Map.entry(name.toLowerCase(Locale.ROOT), value));
      }
    }
    if (request.getHeader("host") == null && !request.getProtocol().startsWith("HTTP/1")) {
      // In HTTP/2, the host is no header.
      headers.add(Map.entry("host", request.getServerName() + ":" + request.getServerPort()));
    }
    endpoint.jvm.handle(
        request.getMethod(),
        request.getRequestURI(),
        request.getQueryString(),
        request.getRemoteAddr(),
        headers,
        request.getInputStream(),
        (status, fields, isEmpty) -> {
          response.setStatus(status);
          for (var field : fields) {
            // A filter may have set some. These have one value.
            BiConsumer<String, String> add =
                SINGLE.contains(field.getKey()) ? response::setHeader : response::addHeader;
            add.accept(field.getKey(), field.getValue());
          }
          response.flushBuffer();
          return response.getOutputStream();
        });
  }

  @Override
  public void destroy() {
    endpoint.close();
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.JvmEndpoint;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A server as a servlet. It is asynchronous: calls and open streams occupy no thread of the
 * container. If the servlet or one of its filters is registered without support for that, as in a
 * {@code web.xml} without {@code async-supported}, each of them occupies one.
 *
 * <p>A client that disconnects is noticed at the next write: on streams, within {@code keepAlive}
 * of the server. One that stops reading is disconnected after the option {@code writeTimeout}, or
 * by the container if that occupies a thread.
 */
public final class McpServlet extends HttpServlet {
  private static final long serialVersionUID = 1;
  private static final Set<String> SINGLE_HEADERS =
      Set.of("content-type", "access-control-allow-origin");
  private static final String FAILURE_ATTRIBUTE = McpServlet.class.getName() + ".failure";

  /** The task that a captured one runs on this thread. */
  private static final ThreadLocal<Runnable> TASK = new ThreadLocal<>();

  private final transient HttpEndpoint endpoint;
  private final transient UnaryOperator<Runnable> taskDecorator;

  /** A servlet for the requests of an endpoint, which closes with it. */
  public McpServlet(HttpEndpoint endpoint) {
    this(endpoint, task -> task);
  }

  /**
   * A servlet whose handlers run with the context of the container's thread, such as the caller's
   * identity. Each request passes a task to {@code taskDecorator} on that thread. What it returns
   * runs on the threads of the handlers, around each of them. Middleware passes another one on its
   * own thread for the handlers behind it. A batch runs the same one on several threads at once.
   *
   * <pre>{@code
   * new McpServlet(endpoint, task -> {
   *   var caller = SecurityContextHolder.getContext();
   *   return () -> new DelegatingSecurityContextRunnable(task, caller).run();
   * });
   * }</pre>
   */
  public McpServlet(HttpEndpoint endpoint, UnaryOperator<Runnable> taskDecorator) {
    this.endpoint = endpoint;
    this.taskDecorator = taskDecorator;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response)
      throws IOException, ServletException {
    if (request.getAttribute(FAILURE_ATTRIBUTE) instanceof Throwable failure) {
      // The container then drops the connection: the response must not look complete.
      throw new ServletException(failure);
    }
    var later =
        endpoint.jvm.handle(
            request.getMethod(),
            request.getRequestURI(),
            request.getQueryString(),
            request.getRemoteAddr(),
            headersOf(request),
            request.getInputStream(),
            lengthOf(request),
            this::captured,
            request.isAsyncSupported(),
            (status, headers, isEmpty) -> {
              start(response, isHttp1(request), status, headers);
              response.flushBuffer();
              return response.getOutputStream();
            });
    if (later != null) {
      respond(later, request, response);
    }
  }

  private void respond(
      JvmEndpoint.Later later, HttpServletRequest request, HttpServletResponse response) {
    var context = request.startAsync(request, response);
    context.setTimeout(0);
    var responding = endpoint.jvm.responding();
    var output = new Output(context, request, response);
    var handled = later.writeTo(output);
    context.addListener(new Disconnection(handled, output));
    handled.whenComplete(
        (nothing, failure) -> {
          try {
            output.end(failure);
          } finally {
            responding.run();
          }
        });
  }

  /** Captures the context of this thread. */
  private Consumer<Runnable> captured() {
    var decorated = taskDecorator.apply(() -> TASK.get().run());
    return task -> {
      TASK.set(task);
      try {
        decorated.run();
      } finally {
        TASK.remove();
      }
    };
  }

  private static List<Map.Entry<String, String>> headersOf(HttpServletRequest request) {
    var headers = new ArrayList<Map.Entry<String, String>>();
    for (var name : Collections.list(request.getHeaderNames())) {
      for (var value : Collections.list(request.getHeaders(name))) {
        headers.add(Map.entry(name.toLowerCase(Locale.ROOT), value));
      }
    }
    if (request.getHeader("host") == null && !isHttp1(request)) {
      // In HTTP/2, the host is no header.
      headers.add(Map.entry("host", request.getServerName() + ":" + request.getServerPort()));
    }
    return headers;
  }

  /** The length of the body, or -1. Only that of a POST is read. */
  private static long lengthOf(HttpServletRequest request) {
    return request.getMethod().equals("POST") ? request.getContentLengthLong() : 0;
  }

  private static boolean isHttp1(HttpServletRequest request) {
    return request.getProtocol().startsWith("HTTP/1");
  }

  private static void start(
      HttpServletResponse response,
      boolean isHttp1,
      int status,
      List<Map.Entry<String, String>> headers) {
    response.setStatus(status);
    for (var header : headers) {
      if (header.getKey().equals("connection") && !isHttp1) {
        // HTTP/2 forbids it.
        continue;
      }
      // A filter may have set some. These have one value.
      BiConsumer<String, String> add =
          SINGLE_HEADERS.contains(header.getKey()) ? response::setHeader : response::addHeader;
      add.accept(header.getKey(), header.getValue());
    }
  }

  @Override
  public void destroy() {
    endpoint.close();
  }

  /**
   * Writes a response without blocking a thread.
   *
   * <p>Containers reuse the objects of an ended request for the next one, which may be another
   * client's. So the container waits for a write that is in progress, and none follows.
   */
  private static final class Output implements JvmEndpoint.Output, WriteListener {
    /** Bounds that wait: a failing write may need a lock that the container holds. */
    private static final int USE_TIMEOUT_SECONDS = 5;

    private final AsyncContext context;
    private final HttpServletRequest request;
    private final HttpServletResponse response;

    /** Held while the response is used. */
    private final ReentrantLock use = new ReentrantLock();

    private @Nullable ServletOutputStream output;

    /** The write that waits for the container. */
    private @Nullable CompletableFuture<@Nullable Void> waiting;

    /** Why nothing can be written. */
    private volatile @Nullable Throwable failure;

    /** Set once the response has ended, here or in the container. */
    private boolean hasEnded;

    Output(AsyncContext context, HttpServletRequest request, HttpServletResponse response) {
      this.context = context;
      this.request = request;
      this.response = response;
    }

    @Override
    public void start(int status, List<Map.Entry<String, String>> headers) {
      use.lock();
      try {
        if (failure == null) {
          McpServlet.start(response, isHttp1(request), status, headers);
        }
      } finally {
        use.unlock();
      }
    }

    @Override
    public CompletableFuture<@Nullable Void> write(byte[] chunk) {
      return onStream(this::open)
          .thenCompose(nothing -> onStream(() -> writeTo(output, chunk)))
          .thenCompose(nothing -> onStream(() -> output.flush()));
    }

    private void open() throws IOException {
      if (output == null) {
        output = response.getOutputStream();
        output.setWriteListener(this);
      }
    }

    private static void writeTo(ServletOutputStream output, byte[] chunk) throws IOException {
      if (chunk.length > 0) {
        output.write(chunk);
      }
    }

    /** Does work on the stream if it is open. The future completes when the next can be done. */
    private CompletableFuture<@Nullable Void> onStream(Work work) {
      use.lock();
      try {
        if (failure == null) {
          work.run();
        }
        return ready();
      } catch (IOException failed) {
        return CompletableFuture.failedFuture(failed);
      } finally {
        use.unlock();
      }
    }

    private synchronized CompletableFuture<@Nullable Void> ready() {
      if (failure != null) {
        return CompletableFuture.failedFuture(failure);
      }
      if (output.isReady()) {
        return CompletableFuture.completedFuture(null);
      }
      waiting = new CompletableFuture<>();
      return waiting;
    }

    /** Ends the response, unless the container has, because the client has disconnected. */
    void end(@Nullable Throwable thrown) {
      if (!leave()) {
        return;
      }
      try {
        if (thrown == null || thrown instanceof CancellationException) {
          // A client that has disconnected is no failure for the container to log.
          context.complete();
        } else {
          request.setAttribute(FAILURE_ATTRIBUTE, thrown);
          context.dispatch();
        }
      } catch (IllegalStateException ended) {
        // The container ended it at the same moment.
      }
    }

    /** Stops using the response. Returns whether this call ended it. */
    boolean leave() {
      var isFirst = close();
      try {
        if (use.tryLock(USE_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
          use.unlock();
        }
      } catch (InterruptedException interrupt) {
        Thread.currentThread().interrupt();
      }
      return isFirst;
    }

    private synchronized boolean close() {
      var isFirst = !hasEnded;
      hasEnded = true;
      failure = new IOException("the response has ended");
      return isFirst;
    }

    @Override
    public void onWritePossible() {
      var released = released(null);
      if (released != null) {
        released.complete(null);
      }
    }

    @Override
    public void onError(Throwable thrown) {
      var released = released(thrown);
      if (released != null) {
        released.completeExceptionally(thrown);
      }
    }

    private synchronized @Nullable CompletableFuture<@Nullable Void> released(
        @Nullable Throwable thrown) {
      failure = thrown == null ? failure : thrown;
      var released = waiting;
      waiting = null;
      return released;
    }
  }

  /** Work on a stream. */
  @FunctionalInterface
  private interface Work {
    void run() throws IOException;
  }

  /** Cancels a request whose client has disconnected. */
  private record Disconnection(CompletableFuture<@Nullable Void> handled, Output output)
      implements AsyncListener {
    @Override
    public void onError(AsyncEvent event) {
      handled.cancel(true);
      output.leave();
    }

    @Override
    public void onTimeout(AsyncEvent event) {
      onError(event);
    }

    @Override
    public void onComplete(AsyncEvent event) {
      output.leave();
      handled.cancel(true);
    }

    @Override
    public void onStartAsync(AsyncEvent event) {}
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.JvmListener;
import java.time.Duration;

/** A server that is listening. */
public final class Listener implements AutoCloseable {
  private final JvmListener jvm;

  Listener(JvmListener jvm) {
    this.jvm = jvm;
  }

  /** Returns the URL of the endpoint; empty on descriptors. */
  public String url() {
    return jvm.getUrl();
  }

  /** Returns the address; empty on a Unix socket and on descriptors. */
  public String host() {
    return jvm.getHost();
  }

  /** Returns the port; 0 on a Unix socket and on descriptors. */
  public int port() {
    return jvm.getPort();
  }

  /** Waits until it has closed. */
  public void join() {
    jvm.join();
  }

  /**
   * Serves in the foreground, until it has closed. SIGINT and SIGTERM close it; calls in flight may
   * complete within {@code drainDeadline} of the server. A second signal ends the process at once.
   */
  public void run() {
    jvm.run();
  }

  /**
   * Stops listening. Calls in flight get all but the last fifth of the server's {@code
   * drainDeadline}.
   */
  @Override
  public void close() {
    jvm.close(null);
  }

  /** Stops listening. Calls in flight get until the deadline, and are then cancelled. */
  public void close(Duration deadline) {
    jvm.close(Mapper.milliseconds(deadline));
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * The threads of handlers.
 *
 * @param <O> The class of the options.
 */
public abstract class ExecutorSettings<O> extends Options<O> {
  private static final ExecutorService THREADS = virtual();
  private static final Executor DEFAULT = THREADS;

  Executor executor = DEFAULT;

  ExecutorSettings() {}

  /**
   * Runs handlers. Default: virtual threads, or before Java 21 as many threads as there are calls,
   * and the thread that receives calls for a handler that was short the last time. If the threads
   * of your executor are scarce, callers with verified tokens take turns; verifiers run on threads
   * of the library. Close the server or client before {@code shutdownNow}: what that drops is never
   * answered.
   */
  public O executor(@Nullable Executor executor) {
    this.executor = executor == null ? DEFAULT : Jvm.apart(executor);
    return self();
  }

  /** Ends the threads that are idle, and the others after their handlers. */
  static void shutdown() {
    THREADS.shutdown();
  }

  /**
   * Virtual threads, which Java has since 21. Before, there are as many threads as the core admits
   * calls.
   */
  private static ExecutorService virtual() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException older) {
      return Executors.newCachedThreadPool(
          task -> {
            var thread = new Thread(task, "trunkline-handler");
            thread.setDaemon(true);
            return thread;
          });
    }
  }
}

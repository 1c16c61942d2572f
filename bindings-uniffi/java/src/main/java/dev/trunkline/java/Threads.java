package dev.trunkline.java;

import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** The threads of handlers. */
final class Threads {
  static final Executor DEFAULT = virtual();

  private Threads() {}

  static Executor orDefault(@Nullable Executor executor) {
    return executor == null ? DEFAULT : executor;
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

package dev.trunkline.java;

import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.Task;
import dev.trunkline.jvm.JvmStream;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A tool call that runs as a task. Iterating waits for each state that follows, until the task
 * ends; states in quick succession may be skipped. {@link #close} stops polling but doesn't cancel
 * the task.
 */
public final class ClientTask implements AutoCloseable, Iterable<Task> {
  private final JvmStream stream;
  private volatile @Nullable Task state;

  ClientTask(JvmStream stream) {
    this.stream = stream;
    state = Futures.read(stream.getResult(), Task.class);
  }

  /** Returns the latest known state; null if the server didn't create a task. */
  public @Nullable Task state() {
    return state;
  }

  /** Returns the id of the task; null if the server didn't create a task. */
  public @Nullable String id() {
    var known = state;
    return known == null ? null : known.taskId();
  }

  @Override
  public Iterator<Task> iterator() {
    return Futures.items(
        () ->
            stream.next(
                json -> {
                  state = Futures.read(json, Task.class);
                  return state;
                }));
  }

  /** Waits for the task to end, and returns the result of the call. */
  public CallToolResult result() {
    return Futures.wait(resultAsync(options -> {}));
  }

  /** Waits for the task to end, and returns the result of the call. */
  public CompletableFuture<CallToolResult> resultAsync(Consumer<RequestOptions> options) {
    var given = Options.with(new RequestOptions(), options);
    return Futures.map(stream.request("result", null, given.values), CallToolResult.class);
  }

  /**
   * Answers the {@code inputRequests} of the current state, by key, with {@code manualInput}
   * (2026-07-28).
   */
  public void respond(Map<String, Object> responses) {
    Futures.wait(stream.request("respond", Mapper.write(responses), null));
  }

  /** Cancels the task. Has no effect once it has ended. */
  public void cancel() {
    Futures.wait(stream.request("cancel", null, null));
  }

  @Override
  public void close() {
    stream.close();
  }
}

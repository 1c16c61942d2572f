package dev.trunkline.java;

import dev.trunkline.java.model.LoggingLevel;
import dev.trunkline.jvm.Jvm;
import dev.trunkline.jvm.JvmCall;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The call that a handler answers, and messages to its client. If the caller cancels the call, the
 * thread of the handler is interrupted.
 */
public final class Context extends ClientRequests {
  private static final ThreadLocal<@Nullable Context> CURRENT = new ThreadLocal<>();

  private final JvmCall call;
  private @Nullable CallDescription described;

  Context(JvmCall call) {
    this.call = call;
  }

  /**
   * Returns the context of the call that this thread answers.
   *
   * @throws IllegalStateException outside of a handler
   */
  public static Context current() {
    var context = CURRENT.get();
    if (context == null) {
      throw new IllegalStateException(
          "only the handlers of a server have a context, on the threads that call them");
    }
    return context;
  }

  /**
   * Makes the value of a thread-local, such as that of a logging context or the caller's identity,
   * follow requests to the handlers of their calls: from the thread of a client in the same
   * process, and from that of a web server, such as what a servlet filter has set.
   */
  public static void carry(ThreadLocal<?> local) {
    Jvm.carry(local);
  }

  /** Sets the context of this thread, and returns the previous one. */
  static @Nullable Context enter(@Nullable Context context) {
    var outer = CURRENT.get();
    if (context == null) {
      CURRENT.remove();
    } else {
      CURRENT.set(context);
    }
    return outer;
  }

  /** Reports progress if the caller requested it. Values that don't increase are dropped. */
  public void progress(double progress) {
    progress(progress, null, null);
  }

  /** Reports progress with its total and a message, if the caller requested it. */
  public void progress(double progress, @Nullable Double total, @Nullable String message) {
    call.tell(Json.object("progress", progress, "total", total, "message", message));
  }

  /**
   * Sends a log message to the client, if it accepts messages of that level.
   *
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  @Deprecated
  public void log(LoggingLevel level, @Nullable Object data) {
    log(level, data, null);
  }

  /**
   * Sends a log message with the name of its logger to the client, if it accepts messages of that
   * level.
   *
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  @Deprecated
  public void log(LoggingLevel level, @Nullable Object data, @Nullable String logger) {
    call.tell(Map.of("log", Json.object("level", level, "data", data, "logger", logger)));
  }

  /**
   * Sends a log message of the level {@code info}.
   *
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  @Deprecated
  public void info(String message) {
    log(LoggingLevel.INFO, message);
  }

  /**
   * Sends a log message of the level {@code error}.
   *
   * @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
   */
  @Deprecated
  public void error(String message) {
    log(LoggingLevel.ERROR, message);
  }

  /**
   * Runs work once per request, even if the handler is rerun. Later runs get its value, which must
   * be representable in JSON, such as a record.
   */
  public <T> T once(String name, Class<T> type, Callable<T> work) {
    return Mapper.read(call.once(name, () -> Mapper.write(work.call())), type);
  }

  /**
   * Turns this call into a task, if the tool has {@code deferTask} and the client supports tasks.
   */
  public void startTask() {
    call.tell(Map.of("startTask", true));
  }

  /** Sets the status message of the task. Has no effect if the call is not a task. */
  public void setTaskMessage(String text) {
    call.tell(Map.of("taskMessage", text));
  }

  /** Closes the stream that the client waits on, if it can reconnect for the result. */
  public void closeStream() {
    call.tell(Map.of("closeStream", true));
  }

  /** Returns the value that the server's {@code lifespan} opened. */
  public <T> T lifespan(Class<T> type) {
    return type.cast(call.lifespan());
  }

  @Override
  Requester requester() {
    return (method, params, options) ->
        call.request(method, Mapper.objectOf(params), options.values, options.progress);
  }

  @Override
  CallDescription described() {
    if (described == null) {
      described = Mapper.read(call.describe(), CallDescription.class);
    }
    return described;
  }

  Map<String, Object> proceed(
      @Nullable Map<String, Object> params, @Nullable Consumer<Runnable> around) {
    return call.proceed(params == null ? null : Mapper.objectOf(Mapper.write(params)), around);
  }
}

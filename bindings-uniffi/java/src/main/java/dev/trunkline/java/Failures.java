package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Converts exceptions of handlers for their callers. */
final class Failures {
  /** The layer below, which throws what the errors of the core are converted to. */
  static final Jvm JVM = new Jvm(TrunklineException::of);

  private Failures() {}

  /** The exception for the core. */
  static Exception of(Throwable thrown) {
    var cause = Futures.causeOf(thrown);
    if (cause instanceof Suspension suspension) {
      return (Exception) suspension.getCause();
    }
    var failure = failure(cause);
    if (failure != null) {
      return Jvm.failed(failure, cause);
    }
    return cause instanceof Exception exception ? exception : new Exception(cause);
  }

  static String messageOf(Throwable thrown) {
    return thrown.getMessage() == null ? thrown.toString() : thrown.getMessage();
  }

  /** Returns an argument, which must not be null. */
  static <T> T given(String what, @Nullable T argument) {
    if (argument == null) {
      throw new InvalidArgumentException(what + " must not be null");
    }
    return argument;
  }

  /** Throws the exception itself, although the caller does not declare it. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> E same(Throwable thrown) throws E {
    throw (E) thrown;
  }

  /** Runs work whose checked exceptions would reach methods that declare none. */
  static <T> T unchecked(Callable<T> work) throws InterruptedException {
    try {
      return work.call();
    } catch (RuntimeException | InterruptedException thrown) {
      throw thrown;
    } catch (Exception thrown) {
      throw (TransportException) new TransportException(thrown.toString()).initCause(thrown);
    }
  }

  /** Runs work for a feature, whose name errors begin with. */
  static <T extends @Nullable Object> T naming(String feature, Supplier<T> work) {
    try {
      return work.get();
    } catch (InvalidArgumentException error) {
      throw new InvalidArgumentException(feature + ": " + error.getMessage());
    }
  }

  /** Runs work on a part of a value. Errors begin with its path from the whole, {@code $}. */
  static <T extends @Nullable Object> T at(Object step, Supplier<T> work) {
    try {
      return work.get();
    } catch (InvalidArgumentException inner) {
      var message = messageOf(inner);
      throw new InvalidArgumentException(
          "$"
              + (step instanceof Integer ? "[" + step + "]" : "." + step)
              + (message.startsWith("$") ? message.substring(1) : ": " + message));
    }
  }

  private static @Nullable Map<String, Object> failure(Throwable thrown) {
    if (thrown instanceof ToolException) {
      return Json.object("kind", "tool", "message", messageOf(thrown));
    } else if (thrown instanceof Handling.InvalidArguments
        || thrown instanceof TokenException error && error.scopes() == null) {
      return Json.object("kind", "invalid", "message", messageOf(thrown), "path", "");
    } else if (thrown instanceof ProtocolException error) {
      return protocol(error, error.code(), error.data());
    } else if (thrown instanceof StoreException error) {
      return protocol(error, null, Map.of("error", error.reason().name().toLowerCase(Locale.ROOT)));
    } else if (thrown instanceof TokenException error) {
      return protocol(error, null, Map.of("error", "insufficient_scope", "scopes", error.scopes()));
    }
    return null;
  }

  private static Map<String, Object> protocol(
      Exception error, @Nullable Long code, @Nullable Object data) {
    return Json.object("kind", "protocol", "message", messageOf(error), "code", code, "data", data);
  }
}

package dev.trunkline.java;

import dev.trunkline.java.model.Completion;
import dev.trunkline.java.model.CompletionRequest;
import dev.trunkline.jvm.JvmAnswer;
import dev.trunkline.jvm.JvmFunction;
import dev.trunkline.jvm.JvmHandler;
import java.lang.reflect.Type;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Runs handlers with their context, and converts what they throw. */
final class Handling {
  private Handling() {}

  /** A handler whose arguments are read from the body, and whose result is converted. */
  static <A> JvmHandler of(
      Type arguments, Handler<A> handler, Function<@Nullable Object, JvmAnswer> conversion) {
    Failures.given("the handler", handler);
    return (call, json) -> {
      var context = new Context(call);
      var outer = Context.enter(context);
      try {
        var given = read(() -> Mapper.<A>read(json, arguments));
        return conversion.apply(Futures.settled(handler.handle(context, given)));
      } catch (Exception | Suspension thrown) {
        throw Failures.of(thrown);
      } finally {
        Context.enter(outer);
      }
    };
  }

  static JvmHandler completing(Handler<CompletionRequest> handler) {
    return of(
        CompletionRequest.class,
        handler,
        given -> given instanceof Completion ? Returns.value(given) : Returns.plain(given));
  }

  /** A function of a client, a transport or a store. */
  static JvmFunction function(JvmFunction function) {
    return members -> {
      try {
        return function.call(members);
      } catch (Exception thrown) {
        throw Failures.of(thrown);
      }
    };
  }

  /** Reads arguments, whose errors their caller gets. */
  static <A> A read(Supplier<A> work) {
    try {
      return work.get();
    } catch (IllegalArgumentException reason) {
      throw new InvalidArguments(reason);
    }
  }

  /** Arguments that the schema allows and the record does not. */
  static final class InvalidArguments extends RuntimeException {
    private static final long serialVersionUID = 1;

    InvalidArguments(IllegalArgumentException cause) {
      super(cause.getMessage(), cause);
    }
  }
}

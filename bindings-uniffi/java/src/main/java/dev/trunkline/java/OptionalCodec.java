package dev.trunkline.java;

import java.lang.reflect.Type;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes and reads optional values of primitive types. */
record OptionalCodec(
    Class<?> type, Object empty, Function<Object, Object> wrap, Function<Object, Object> unwrap) {
  private static final Map<Class<?>, OptionalCodec> CODECS =
      Map.of(
          OptionalInt.class,
          new OptionalCodec(
              Integer.class,
              OptionalInt.empty(),
              value -> OptionalInt.of((Integer) value),
              optional -> ((OptionalInt) optional).getAsInt()),
          OptionalLong.class,
          new OptionalCodec(
              Long.class,
              OptionalLong.empty(),
              value -> OptionalLong.of((Long) value),
              optional -> ((OptionalLong) optional).getAsLong()),
          OptionalDouble.class,
          new OptionalCodec(
              Double.class,
              OptionalDouble.empty(),
              value -> OptionalDouble.of((Double) value),
              optional -> ((OptionalDouble) optional).getAsDouble()));

  /** Returns the codec of a class; null if it is no optional primitive. */
  static @Nullable OptionalCodec of(Class<?> type) {
    return CODECS.get(type);
  }

  /** Returns whether values of a type, such as {@link Optional}, may be empty. */
  static boolean isOptional(Type type) {
    var plain = Mapper.classOf(type);
    return plain == Optional.class || CODECS.containsKey(plain);
  }

  @Nullable Object write(Object optional) {
    return optional.equals(empty) ? null : Mapper.write(unwrap.apply(optional));
  }

  Object read(Object json) {
    return wrap.apply(Mapper.read(json, type));
  }
}

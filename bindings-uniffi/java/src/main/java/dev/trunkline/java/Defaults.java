package dev.trunkline.java;

import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/** Reads the text of defaults, which annotations have. */
final class Defaults {
  private Defaults() {}

  static Object of(String text, Type type) {
    try {
      var json = isString(Mapper.classOf(type)) ? text : Json.parse(text);
      if (json == null) {
        throw new IllegalArgumentException("null is none: use an annotation named Nullable");
      }
      return json;
    } catch (IllegalArgumentException reason) {
      throw error(text, reason);
    }
  }

  /** Refuses the default of a member that its type does not have. */
  static void check(RecordCodec.Member member) {
    try {
      Mapper.read(member.fallback(), member.type());
    } catch (IllegalArgumentException reason) {
      throw error(Json.write(member.fallback()), reason);
    }
  }

  /** The JSON of a default of Jackson, which may be anything; null if it is not JSON. */
  static @Nullable Object ofJackson(@Nullable String text, Class<?> type) {
    try {
      return text == null || text.isEmpty() || isString(type) ? text : Json.parse(text);
    } catch (IllegalArgumentException reason) {
      return null;
    }
  }

  private static InvalidArgumentException error(String text, IllegalArgumentException reason) {
    return new InvalidArgumentException("the default " + text + ": " + reason.getMessage());
  }

  private static boolean isString(Class<?> type) {
    return type == String.class || type.isEnum() || StringCodec.of(type) != null;
  }
}

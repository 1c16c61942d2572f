package dev.trunkline.java;

import java.util.LinkedHashMap;
import java.util.Map;

/** Writes and reads the constants of an enum. */
final class EnumCodec {
  private static final ClassValue<Map<String, Enum<?>>> CONSTANTS =
      Mapper.perClass(EnumCodec::constantsOf);

  private EnumCodec() {}

  /** Returns the names in JSON, in the order of the constants. */
  static Iterable<String> names(Class<?> type) {
    return CONSTANTS.get(type).keySet();
  }

  static Enum<?> read(String text, Class<?> type) {
    var constant = CONSTANTS.get(type).get(text);
    if (constant == null) {
      throw new IllegalArgumentException(
          "it must be one of " + String.join(", ", names(type)) + ", and is " + text);
    }
    return constant;
  }

  static String write(Enum<?> constant) {
    try {
      var field = constant.getDeclaringClass().getField(constant.name());
      var name = field.getAnnotation(JsonName.class);
      return name == null ? constant.name() : name.value();
    } catch (NoSuchFieldException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Map<String, Enum<?>> constantsOf(Class<?> type) {
    var constants = new LinkedHashMap<String, Enum<?>>();
    for (var constant : type.getEnumConstants()) {
      constants.put(write((Enum<?>) constant), (Enum<?>) constant);
    }
    return constants;
  }
}

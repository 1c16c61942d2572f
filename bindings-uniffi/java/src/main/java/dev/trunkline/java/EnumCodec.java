package dev.trunkline.java;

import java.util.LinkedHashMap;
import java.util.Map;

/** Writes and reads the constants of an enum. */
final class EnumCodec {
  private static final ClassValue<EnumCodec> CODECS = Mapper.perClass(EnumCodec::new);

  private final Map<String, Enum<?>> constants = new LinkedHashMap<>();
  private final Map<Enum<?>, String> names = new LinkedHashMap<>();

  private EnumCodec(Class<?> type) {
    for (var value : type.getEnumConstants()) {
      var constant = (Enum<?>) value;
      constants.put(nameOf(constant), constant);
      names.put(constant, nameOf(constant));
    }
  }

  static EnumCodec of(Class<?> type) {
    return CODECS.get(type);
  }

  /** Returns the names in JSON, in the order of the constants. */
  Iterable<String> names() {
    return constants.keySet();
  }

  String write(Enum<?> constant) {
    return names.get(constant);
  }

  Enum<?> read(String text) {
    var constant = constants.get(text);
    if (constant == null) {
      throw new IllegalArgumentException(
          "it must be one of " + String.join(", ", constants.keySet()) + ", and is " + text);
    }
    return constant;
  }

  private static String nameOf(Enum<?> constant) {
    try {
      var field = constant.getDeclaringClass().getField(constant.name());
      var name = field.getAnnotation(JsonName.class);
      return name == null ? constant.name() : name.value();
    } catch (NoSuchFieldException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}

package dev.trunkline.java;

import java.util.Arrays;

/** How constants are written and read. */
final class EnumForm {
  private EnumForm() {}

  static String nameOf(Enum<?> constant) {
    try {
      var name =
          constant.getDeclaringClass().getField(constant.name()).getAnnotation(JsonName.class);
      return name == null ? constant.name() : name.value();
    } catch (NoSuchFieldException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  static Object constantOf(Class<?> type, String text) {
    for (var constant : type.getEnumConstants()) {
      if (nameOf((Enum<?>) constant).equals(text)) {
        return constant;
      }
    }
    var names =
        Arrays.stream(type.getEnumConstants()).map(constant -> nameOf((Enum<?>) constant)).toList();
    throw new IllegalArgumentException(
        "it must be one of " + String.join(", ", names) + ", and is " + text);
  }

  static Object open(Class<?> type, String text) {
    try {
      return type.getConstructor(String.class).newInstance(text);
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}

package dev.trunkline.java;

import dev.trunkline.jvm.Values;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON texts and values. */
public final class Json {
  private Json() {}

  /**
   * Returns the value of a text.
   *
   * @throws IllegalArgumentException if the text is not JSON, or a number has more than 1,000
   *     characters
   */
  public static @Nullable Object parse(String text) {
    return Values.parse(text);
  }

  /**
   * Returns the object of a text, such as a JSON Schema.
   *
   * @throws IllegalArgumentException if the text is not JSON, not an object, or a number has more
   *     than 1,000 characters
   */
  @SuppressWarnings("unchecked")
  public static Map<String, Object> parseObject(String text) {
    if (parse(text) instanceof Map<?, ?> object) {
      return (Map<String, Object>) object;
    }
    throw new IllegalArgumentException("the text is not a JSON object");
  }

  /** Returns the text of a value, in which records are objects. */
  public static String write(@Nullable Object value) {
    return Values.write(Mapper.write(value));
  }

  /**
   * Reads a value, such as a record, from its form in JSON.
   *
   * @throws IllegalArgumentException if the JSON does not fit the class
   */
  public static <T> T read(@Nullable Object json, Class<T> type) {
    return Mapper.read(json, type);
  }

  /** Returns an object of names and values, without those that are null. */
  static Map<String, Object> object(@Nullable Object... members) {
    var object = new LinkedHashMap<String, Object>();
    for (var index = 0; index < members.length; index += 2) {
      var value = Mapper.write(members[index + 1]);
      if (value != null) {
        object.put((String) members[index], value);
      }
    }
    return object;
  }
}

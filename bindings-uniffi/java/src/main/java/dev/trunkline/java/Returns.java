package dev.trunkline.java;

import dev.trunkline.Shape;
import dev.trunkline.java.model.CallToolResult;
import dev.trunkline.java.model.ContentBlock;
import dev.trunkline.java.model.GetPromptResult;
import dev.trunkline.java.model.InputRequired;
import dev.trunkline.java.model.Model;
import dev.trunkline.java.model.PromptMessage;
import dev.trunkline.java.model.ReadResourceResult;
import dev.trunkline.java.model.ResourceContents;
import dev.trunkline.java.model.TextContent;
import dev.trunkline.jvm.JvmAnswer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Converts the values that handlers return. */
final class Returns {
  private Returns() {}

  static JvmAnswer of(@Nullable Object value) {
    if (value instanceof String text) {
      return new JvmAnswer(Shape.TEXT, text);
    } else if (isText(value)) {
      return new JvmAnswer(Shape.TEXT, StringCodec.write(value));
    } else if (value instanceof byte[]) {
      throw new InvalidArgumentException(
          "only resources return bytes: use Content.image or Content.audio");
    } else if (value instanceof InputRequired) {
      return new JvmAnswer(Shape.INPUT, Mapper.write(value));
    } else if (value instanceof CallToolResult
        || value instanceof ReadResourceResult
        || value instanceof GetPromptResult) {
      return new JvmAnswer(Shape.RESULT, Mapper.write(value));
    } else if (isPart(value)) {
      return new JvmAnswer(Shape.CONTENT, Mapper.write(value));
    } else if (value instanceof List<?> list && list.stream().anyMatch(Returns::isPart)) {
      return new JvmAnswer(Shape.CONTENT, parts(list));
    }
    return value(value);
  }

  /** The contents of a resource. */
  static JvmAnswer contents(@Nullable Object value) {
    return value instanceof byte[]
        ? new JvmAnswer(Shape.CONTENT, Map.of("blob", Mapper.write(value)))
        : of(value);
  }

  /** The messages of a prompt. */
  static JvmAnswer messages(@Nullable Object value) {
    return value instanceof List<?> list ? new JvmAnswer(Shape.CONTENT, parts(list)) : of(value);
  }

  /**
   * The answer of a tool with an output schema. Text is not quoted, whether it has a schema or not.
   */
  static JvmAnswer structured(@Nullable Object value, boolean isWrapped) {
    var isData =
        !(value instanceof CallToolResult
            || value instanceof InputRequired
            || value instanceof String
            || isText(value));
    return !isData ? of(value) : isWrapped ? plain(value) : value(value);
  }

  static JvmAnswer value(@Nullable Object value) {
    var written = Mapper.write(value);
    return new JvmAnswer(written instanceof Map<?, ?> ? Shape.OBJECT : Shape.VALUE, written);
  }

  /** A value that is not an object for the model, even if it is one. */
  static JvmAnswer plain(@Nullable Object value) {
    return new JvmAnswer(Shape.VALUE, Mapper.write(value));
  }

  /** Returns whether a value, such as a date, is a string for the model. */
  private static boolean isText(@Nullable Object value) {
    return value != null && StringCodec.of(value.getClass()) != null;
  }

  /** Parts of a result, and strings among them. */
  private static List<Object> parts(List<?> list) {
    var parts = new ArrayList<Object>();
    for (var item : list) {
      if (!(item instanceof String) && !isPart(item)) {
        throw new InvalidArgumentException(
            "a list of content blocks and strings has a "
                + (item == null ? "null" : item.getClass().getName()));
      }
      parts.add(Mapper.write(item instanceof String text ? new TextContent(text) : item));
    }
    return parts;
  }

  static boolean isPart(@Nullable Object value) {
    return value instanceof ContentBlock
        || value instanceof ResourceContents
        || value instanceof PromptMessage;
  }

  /** Returns whether values of a class are results or parts of results, and not data. */
  static boolean isForm(Class<?> type) {
    return type.isAnnotationPresent(Model.class) || type.isAnnotationPresent(Model.Union.class);
  }
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method that {@link Server#add} adds as a tool. Its arguments are the parameters, apart from a
 * {@link Context}; compile with {@code -parameters}, or name them with {@link JsonName}. If it
 * returns a record, a sealed interface of records, a map, or a collection of these, its type
 * becomes the output schema. Other return types, such as a list of strings or a {@link
 * java.util.concurrent.CompletableFuture}, have none.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface McpTool {
  /** The name; by default that of the method. */
  String name() default "";

  /** What the tool is for, for the model. */
  String description();
}

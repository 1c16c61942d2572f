package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method that {@link Server#add} adds as a tool. Its arguments are the parameters, apart from a
 * {@link Context}; compile with {@code -parameters}, or name them with {@link JsonName}. If it
 * returns a record or a collection, its type becomes the output schema.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface McpTool {
  /** The name; by default that of the method. */
  String name() default "";

  /** What the tool is for, for the model. */
  String description();
}

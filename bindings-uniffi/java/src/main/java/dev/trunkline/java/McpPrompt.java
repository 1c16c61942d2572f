package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method that {@link Server#add} adds as a prompt. Its arguments are the parameters, which are
 * strings, apart from a {@link Context}; compile with {@code -parameters}, or name them with {@link
 * JsonName}.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface McpPrompt {
  /** The name; by default that of the method. */
  String name() default "";

  /** What the prompt is for, for users. */
  String description() default "";
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method that {@link Server#add} adds as a resource. Its parameters, apart from a {@link
 * Context}, are the variables of the URI template; compile with {@code -parameters}, or name them
 * with {@link JsonName}.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface McpResource {
  /** The URI or URI template, such as {@code notes://{name}}. */
  String uri();

  /** The name; by default that of the method. */
  String name() default "";

  /** What the resource is, for the model. */
  String description() default "";

  /** The MIME type. */
  String mimeType() default "";
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The value of a component of a record, or of a parameter, that is missing or null. It is the
 * {@code default} in the schema.
 *
 * <pre>{@code
 * record Place(String city, @Default("3") int days) {}
 * }</pre>
 */
@Target({ElementType.RECORD_COMPONENT, ElementType.PARAMETER})
@Retention(RetentionPolicy.RUNTIME)
public @interface Default {
  /** The value in JSON. A string, or a constant of an enum, has no quotes. */
  String value();
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Describes a record, one of its components, or a parameter to the model, in the schema of a tool.
 */
@Target({ElementType.TYPE, ElementType.RECORD_COMPONENT, ElementType.PARAMETER})
@Retention(RetentionPolicy.RUNTIME)
public @interface Description {
  /** The text. */
  String value();
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How the records of a sealed interface differ in JSON, if not by their names in a member {@code
 * type}.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@interface Union {
  /**
   * The member whose value is that of {@link Model}; empty if it is the name of a member that only
   * one has.
   */
  String tag();

  /** The record for any other object. */
  Class<?> other() default void.class;
}

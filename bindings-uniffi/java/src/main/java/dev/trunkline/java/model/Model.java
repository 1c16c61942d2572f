package dev.trunkline.java.model;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A model of the protocol, whose flags are false and whose lists are empty if they are absent. Only
 * the library marks its own records with this.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface Model {
  /** In a {@link Union}, the value of the tag or the name of the member. */
  String value() default "";

  /** A list that is written as its item if there is only one. */
  @Target(ElementType.RECORD_COMPONENT)
  @Retention(RetentionPolicy.RUNTIME)
  @interface OneOrList {}

  /**
   * How the records of a sealed interface differ in JSON, if not by their names in a member {@code
   * type}.
   */
  @Target(ElementType.TYPE)
  @Retention(RetentionPolicy.RUNTIME)
  @interface Union {
    /**
     * The member whose value is that of {@link Model}; empty if it is the name of a member that
     * only one has.
     */
    String tag();

    /** True if any other object is {@link OtherContent}. */
    boolean isOpen() default false;
  }
}

package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A model of the protocol, whose flags are false and whose lists are empty if they are absent. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@interface Model {
  /** In a {@link Union}, the value of the tag or the name of the member. */
  String value() default "";
}

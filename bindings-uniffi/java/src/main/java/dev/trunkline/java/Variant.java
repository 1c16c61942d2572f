package dev.trunkline.java;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The mark of a record in a {@link Union}. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@interface Variant {
  /** The value of the tag, or the name of the member. */
  String value();
}

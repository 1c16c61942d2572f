package dev.trunkline.java;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;

/**
 * A type with its arguments, which a class alone does not have: {@code new TypeOf<List<Place>>()
 * {}}.
 *
 * @param <T> The type.
 */
public abstract class TypeOf<T> {
  private final Type type;

  /** Captures the type argument of the subclass. */
  protected TypeOf() {
    if (!(getClass().getGenericSuperclass() instanceof ParameterizedType own)) {
      throw new InvalidArgumentException("a TypeOf needs a type: new TypeOf<List<String>>() {}");
    }
    type = own.getActualTypeArguments()[0];
  }

  /** Returns the type. */
  public final Type type() {
    return type;
  }
}

package dev.trunkline.java;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import org.jspecify.annotations.Nullable;

/** Calls a constructor or method of the program. */
final class Invocation {
  private static final MethodType TYPE = MethodType.methodType(Object.class, Object[].class);

  private final MethodHandle handle;

  /** Without an object, that of a method is its first argument. Errors contain the name. */
  Invocation(Executable called, @Nullable Object object, String name) {
    try {
      var lookup =
          MethodHandles.privateLookupIn(called.getDeclaringClass(), MethodHandles.lookup());
      var found =
          called instanceof Method method
              ? lookup.unreflect(method)
              : lookup.unreflectConstructor((Constructor<?>) called);
      var isBound = object != null && !Modifier.isStatic(called.getModifiers());
      var bound = (isBound ? found.bindTo(object) : found).asFixedArity();
      handle = bound.asSpreader(Object[].class, bound.type().parameterCount()).asType(TYPE);
    } catch (IllegalAccessException inaccessible) {
      throw new InvalidArgumentException(
          name + " is not accessible: open its package to this library");
    }
  }

  @Nullable Object call(@Nullable Object... arguments) {
    try {
      return handle.invokeExact(arguments);
    } catch (Throwable thrown) {
      throw Failures.<RuntimeException>same(thrown);
    }
  }
}

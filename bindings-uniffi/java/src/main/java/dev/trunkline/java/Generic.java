package dev.trunkline.java;

import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A class with its type arguments, such as a generic record. */
record Generic(Class<?> type, List<Type> arguments) implements ParameterizedType {
  /** The class without arguments, unless a type has some. */
  static Generic of(Type type) {
    return type instanceof ParameterizedType
        ? (Generic) resolve(type, Map.of())
        : new Generic(Mapper.classOf(type), List.of());
  }

  /** Returns the type of a member, in which the arguments replace the type variables. */
  Type resolve(Type member) {
    var variables = new HashMap<Type, Type>();
    for (var index = 0; index < arguments.size(); index++) {
      variables.put(type.getTypeParameters()[index], arguments.get(index));
    }
    return resolve(member, variables);
  }

  private static Type resolve(Type type, Map<Type, Type> variables) {
    if (type instanceof ParameterizedType generic) {
      return new Generic(
          (Class<?>) generic.getRawType(),
          Arrays.stream(generic.getActualTypeArguments())
              .map(argument -> resolve(argument, variables))
              .toList());
    } else if (type instanceof WildcardType wildcard) {
      return resolve(wildcard.getUpperBounds()[0], variables);
    } else if (type instanceof GenericArrayType array) {
      var item = resolve(array.getGenericComponentType(), variables);
      return item instanceof Class<?> plain ? plain.arrayType() : (GenericArrayType) () -> item;
    }
    return type instanceof TypeVariable<?> ? variables.getOrDefault(type, type) : type;
  }

  @Override
  public Type[] getActualTypeArguments() {
    return arguments.toArray(Type[]::new);
  }

  @Override
  public Type getRawType() {
    return type;
  }

  @Override
  public @Nullable Type getOwnerType() {
    return type.getDeclaringClass();
  }

  @Override
  public String toString() {
    var names = arguments.stream().map(Type::getTypeName).collect(Collectors.joining(", "));
    return type.getName() + (names.isEmpty() ? "" : "<" + names + ">");
  }
}

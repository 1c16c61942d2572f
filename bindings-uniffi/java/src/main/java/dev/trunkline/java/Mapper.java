package dev.trunkline.java;

import dev.trunkline.java.model.OpenEnum;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes values as JSON, and reads them from it. */
final class Mapper {
  private static final Map<Class<?>, Function<BigDecimal, Number>> INTEGERS =
      Map.of(
          Byte.class, BigDecimal::byteValueExact,
          Short.class, BigDecimal::shortValueExact,
          Integer.class, BigDecimal::intValueExact,
          Long.class, BigDecimal::longValueExact,
          BigInteger.class, Mapper::bigInteger);

  /** A few characters, such as {@code 1e999999999}, must not become a gigabyte. */
  private static final int MAX_ZEROS = 1000;

  private Mapper() {}

  static @Nullable Object write(@Nullable Object value) {
    var isFloating = value instanceof Double || value instanceof Float;
    if (isFloating && !Double.isFinite(((Number) value).doubleValue())) {
      throw new InvalidArgumentException(value + " has no form in JSON");
    } else if (value == null
        || value instanceof String
        || value instanceof Boolean
        || value instanceof Number) {
      return value;
    } else if (value instanceof Map<?, ?> map) {
      var object = new LinkedHashMap<String, @Nullable Object>();
      map.forEach(
          (name, member) ->
              object.put(String.valueOf(write(name)), Failures.at(name, () -> write(member))));
      return object;
    } else if (value instanceof Collection<?> items) {
      var list = new ArrayList<@Nullable Object>();
      items.forEach(item -> list.add(Failures.at(list.size(), () -> write(item))));
      return list;
    } else if (value instanceof Record record) {
      return RecordCodec.of(record.getClass()).write(record);
    } else if (value instanceof OpenEnum text) {
      return text.value();
    } else if (value instanceof Enum<?> constant) {
      return EnumCodec.write(constant);
    } else if (value instanceof Optional<?> optional) {
      return write(optional.orElse(null));
    } else if (value instanceof Duration time) {
      return milliseconds(time);
    } else if (value instanceof byte[] bytes) {
      return Base64.getEncoder().encodeToString(bytes);
    } else if (value instanceof CharSequence) {
      return value.toString();
    } else if (StringCodec.of(value.getClass()) != null) {
      return StringCodec.write(value);
    } else if (OptionalCodec.of(value.getClass()) != null) {
      return OptionalCodec.of(value.getClass()).write(value);
    } else if (value.getClass().isArray()) {
      return write(
          IntStream.range(0, Array.getLength(value))
              .mapToObj(index -> Array.get(value, index))
              .toList());
    }
    throw new InvalidArgumentException(
        "a "
            + value.getClass().getName()
            + " has no form in JSON: use a record, a map, a list, a string or a number");
  }

  static <T> T read(@Nullable Object json, Class<T> type) {
    return Mapper.<T>read(json, (Type) type);
  }

  /** Reads a value; null stays null. */
  @SuppressWarnings("unchecked")
  static <T> T read(@Nullable Object json, Type type) {
    return (T) value(json, type);
  }

  /** Makes one value of each class. */
  static <T> ClassValue<T> perClass(Function<Class<?>, T> make) {
    return new ClassValue<>() {
      @Override
      protected T computeValue(Class<?> type) {
        return make.apply(type);
      }
    };
  }

  /** Whole milliseconds, rounded up, so that no time becomes none. */
  static long milliseconds(Duration time) {
    if (time.isNegative()) {
      throw new InvalidArgumentException("a time must not be negative: " + time);
    }
    try {
      return time.plusNanos(999_999).toMillis();
    } catch (ArithmeticException tooLong) {
      return Long.MAX_VALUE;
    }
  }

  private static @Nullable Object value(@Nullable Object json, Type type) {
    if (type instanceof ParameterizedType parameterized) {
      return generic(
          json, (Class<?>) parameterized.getRawType(), parameterized.getActualTypeArguments());
    } else if (type instanceof WildcardType wildcard) {
      return value(json, wildcard.getUpperBounds()[0]);
    } else if (type instanceof GenericArrayType array) {
      return array(json, array.getGenericComponentType());
    } else if (type instanceof Class<?> plain) {
      return json == null ? nothing(plain) : plain(json, plain);
    }
    return json;
  }

  private static @Nullable Object nothing(Class<?> type) {
    if (type.isPrimitive() && type != void.class) {
      throw new IllegalArgumentException("it must be " + nameOf(type) + ", and is missing");
    }
    var optional = OptionalCodec.of(type);
    return optional != null ? optional.empty() : type == Optional.class ? Optional.empty() : null;
  }

  /** Returns whether values of a class are read as a list, a set or a map. */
  static boolean isContainer(Class<?> type) {
    return Stream.of(ArrayList.class, LinkedHashSet.class, LinkedHashMap.class)
        .anyMatch(type::isAssignableFrom);
  }

  private static @Nullable Object generic(@Nullable Object json, Class<?> type, Type[] arguments) {
    if (type == Optional.class) {
      return Optional.ofNullable(value(json, arguments[0]));
    } else if (json == null) {
      return null;
    } else if (type.isRecord()) {
      var generic = new Generic(type, List.of(arguments));
      return RecordCodec.of(type).read(objectOf(json), generic);
    } else if (type.isAssignableFrom(ArrayList.class)) {
      return listOf(json, arguments[0]);
    } else if (type.isAssignableFrom(LinkedHashSet.class)) {
      return new LinkedHashSet<>(listOf(json, arguments[0]));
    } else if (type.isAssignableFrom(LinkedHashMap.class)) {
      var map = new LinkedHashMap<@Nullable Object, @Nullable Object>();
      objectOf(json)
          .forEach((name, member) -> map.put(key(name, arguments[0]), value(member, arguments[1])));
      return map;
    }
    throw new IllegalArgumentException("it cannot be read as " + type.getName());
  }

  /** Reads a name as the key of a map, such as a number. */
  private static @Nullable Object key(String name, Type type) {
    var isNumber =
        type instanceof Class<?> plain
            && (Number.class.isAssignableFrom(plain) || plain == Duration.class);
    return value(isNumber ? Json.parse(name) : name, type);
  }

  private static @Nullable Object plain(Object json, Class<?> type) {
    if (type.isInstance(json) || type == boolean.class && json instanceof Boolean) {
      return json;
    } else if (json instanceof Number number && Number.class.isAssignableFrom(boxed(type))) {
      return number(number, type);
    } else if (type == Duration.class && json instanceof Number number) {
      return Duration.ofMillis((Long) number(number, Long.class));
    } else if (Map.class.isAssignableFrom(type) || Collection.class.isAssignableFrom(type)) {
      return generic(json, type, new Type[] {Object.class, Object.class});
    } else if (type.isRecord()) {
      return RecordCodec.of(type).read(objectOf(json), Generic.of(type));
    } else if (type == TrunklineException.class) {
      return TrunklineException.of(objectOf(json));
    } else if (UnionCodec.isUnion(type)) {
      return UnionCodec.of(type).read(objectOf(json));
    } else if (json instanceof String text && OpenEnum.class.isAssignableFrom(type)) {
      return openEnum(text, type);
    } else if (json instanceof String text && type.isEnum()) {
      return EnumCodec.read(text, type);
    } else if (type == byte[].class && json instanceof String text) {
      return Base64.getDecoder().decode(text);
    } else if (json instanceof String text && StringCodec.of(type) != null) {
      return StringCodec.of(type).read(text);
    } else if (OptionalCodec.of(type) != null) {
      return OptionalCodec.of(type).read(json);
    } else if (type.isArray()) {
      return array(json, type.getComponentType());
    }
    throw new IllegalArgumentException(
        "it must be " + nameOf(type) + ", and is " + nameOf(json.getClass()));
  }

  private static Object openEnum(String text, Class<?> type) {
    try {
      return type.getConstructor(String.class).newInstance(text);
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Object number(Number number, Class<?> type) {
    var boxed = boxed(type);
    try {
      if (boxed == Double.class) {
        return finite(number.doubleValue());
      } else if (boxed == Float.class) {
        return (float) finite(number.floatValue());
      }
      return INTEGERS.getOrDefault(boxed, same -> same).apply(new BigDecimal(number.toString()));
    } catch (ArithmeticException excess) {
      throw new IllegalArgumentException(
          "it must be " + nameOf(type) + ", and is " + number, excess);
    }
  }

  /** Returns the nearest number that a member of a message holds. */
  static Number nearest(Number number, Type type) {
    var nearest = number.doubleValue();
    if (type == double.class || type == Double.class) {
      return Math.max(-Double.MAX_VALUE, Math.min(nearest, Double.MAX_VALUE));
    }
    var isInteger = type == long.class || type == Long.class || type == Duration.class;
    if (isInteger && Math.abs(nearest) >= 0x1p63) {
      // The largest or the smallest.
      return (long) nearest;
    }
    return type == Duration.class ? number.longValue() : number;
  }

  /** Returns the class of the objects for a primitive type, and any other class itself. */
  static Class<?> boxed(Class<?> type) {
    return MethodType.methodType(type).wrap().returnType();
  }

  private static double finite(double number) {
    if (Double.isInfinite(number)) {
      throw new ArithmeticException("it is too large");
    }
    return number;
  }

  private static BigInteger bigInteger(BigDecimal number) {
    if (number.scale() < -MAX_ZEROS) {
      throw new ArithmeticException("it is too large");
    }
    return number.toBigIntegerExact();
  }

  private static List<@Nullable Object> listOf(Object json, Type item) {
    if (!(json instanceof List<?> items)) {
      throw new IllegalArgumentException("it must be an array, and is " + nameOf(json.getClass()));
    }
    var list = new ArrayList<@Nullable Object>();
    for (var index = 0; index < items.size(); index++) {
      list.add(at("[" + index + "]", items.get(index), item));
    }
    return list;
  }

  private static Object array(@Nullable Object json, Type item) {
    var items = listOf(json == null ? List.of() : json, item);
    var array = Array.newInstance(classOf(item), items.size());
    for (var index = 0; index < items.size(); index++) {
      Array.set(array, index, items.get(index));
    }
    return array;
  }

  /** Returns the class of a type, without arguments. */
  static Class<?> classOf(Type type) {
    return type instanceof ParameterizedType generic
        ? classOf(generic.getRawType())
        : type instanceof Class<?> plain ? plain : Object.class;
  }

  /** Reads a member. Errors begin with its path. */
  static @Nullable Object at(String path, @Nullable Object json, Type type) {
    try {
      return value(json, type);
    } catch (MappingException inner) {
      var inside = inner.getMessage();
      throw new MappingException(path + (inside.startsWith("[") ? "" : ".") + inside);
    } catch (IllegalArgumentException reason) {
      throw new MappingException(path + ": " + reason.getMessage());
    }
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> objectOf(@Nullable Object json) {
    if (json instanceof Map<?, ?> object) {
      return (Map<String, Object>) object;
    }
    var own = json == null ? "null" : nameOf(json.getClass());
    throw new IllegalArgumentException("it must be an object, and is " + own);
  }

  private static String nameOf(Class<?> type) {
    var codec = StringCodec.of(type);
    if (codec != null) {
      return "a string such as " + codec.example();
    } else if (type == String.class || type.isEnum() || OpenEnum.class.isAssignableFrom(type)) {
      return "a string";
    } else if (type == boolean.class || type == Boolean.class) {
      return "a boolean";
    } else if (List.class.isAssignableFrom(type) || type.isArray()) {
      return "an array";
    } else if (Map.class.isAssignableFrom(type) || type.isRecord()) {
      return "an object";
    } else if (Number.class.isAssignableFrom(type) || type.isPrimitive()) {
      return "a number of the type " + type.getSimpleName().toLowerCase(java.util.Locale.ROOT);
    }
    return "a " + type.getName();
  }

  /** A member that does not fit. The message begins with its path. */
  private static final class MappingException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    MappingException(String message) {
      super(message);
    }
  }
}

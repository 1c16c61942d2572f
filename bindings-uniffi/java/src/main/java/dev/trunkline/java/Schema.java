package dev.trunkline.java;

import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes the JSON Schema of a type. */
class Schema {
  static final String DEFINITIONS = "$defs";

  /** The bits of integers. */
  private static final Map<Class<?>, Integer> BITS =
      Map.of(
          Byte.class, Byte.SIZE,
          Short.class, Short.SIZE,
          Integer.class, Integer.SIZE,
          Long.class, Long.SIZE);

  /** The other numbers that can be read. */
  private static final List<Class<?>> NUMBERS =
      List.of(Float.class, Double.class, BigDecimal.class, Number.class);

  /** A generic record may contain itself with other arguments, which have no end. */
  private static final int MAX_NESTING = 128;

  private final Map<String, Object> definitions = new LinkedHashMap<>();
  private final Deque<Type> open = new ArrayDeque<>();

  /** Classes that contain themselves, with the names of their definitions. */
  private final Map<Type, String> recursive = new HashMap<>();

  /**
   * True if values are read: records refuse other members, because reading would ignore one that is
   * misspelled, and fewer collections and numbers are allowed.
   */
  private final boolean isRead;

  Schema(boolean isRead) {
    this.isRead = isRead;
  }

  static Map<String, Object> of(Type type) {
    return of(type, false);
  }

  private static Map<String, Object> of(Type type, boolean isRead) {
    var schema = new Schema(isRead);
    return schema.whole(schema.type(type));
  }

  static Map<String, Object> ofArguments(Type type) {
    return of(type, true);
  }

  /** The schema of arguments with these names. */
  static Map<String, Object> ofArguments(List<RecordCodec.Member> members) {
    var schema = new Schema(true);
    return schema.whole(schema.object(members));
  }

  /**
   * The schema of a result, which must be of an object: other values are its member {@code result}.
   */
  static Map<String, Object> ofResult(Type type) {
    var own = of(type);
    if (!isWrapped(type)) {
      return own;
    }
    var definitions = own.remove(DEFINITIONS);
    var whole = Json.object("type", "object", "properties", Map.of(), DEFINITIONS, definitions);
    property(whole, "result", own, OptionalCodec.isOptional(type), true, null);
    return whole;
  }

  /** Returns whether a type is not an object in JSON. */
  static boolean isWrapped(Type type) {
    var plain = Mapper.classOf(type);
    return !plain.isRecord() && !UnionCodec.isUnion(plain) && !Map.class.isAssignableFrom(plain);
  }

  /** Adds the definitions to a schema. */
  final Map<String, Object> whole(Map<String, Object> schema) {
    if (!definitions.isEmpty()) {
      schema.put(DEFINITIONS, definitions);
    }
    return schema;
  }

  private Map<String, Object> type(Type type) {
    if (type instanceof ParameterizedType) {
      return generic(Generic.of(type));
    } else if (type instanceof WildcardType wildcard) {
      return type(wildcard.getUpperBounds()[0]);
    } else if (type instanceof GenericArrayType array) {
      return list(array.getGenericComponentType());
    }
    if (type instanceof Class<?> plain) {
      return plain(plain);
    }
    throw unknown(type);
  }

  private Map<String, Object> generic(Generic generic) {
    var type = generic.type();
    var arguments = generic.arguments();
    if (type == Optional.class) {
      return type(arguments.get(0));
    } else if (isContainer(type, Map.class) && isKey(arguments.get(0))) {
      return Json.object("type", "object", "additionalProperties", item(arguments.get(1)));
    } else if (isContainer(type, Collection.class)) {
      return list(arguments.get(0));
    } else if (type.isRecord()) {
      return once(generic, this::alone);
    }
    throw unknown(type);
  }

  private boolean isContainer(Class<?> type, Class<?> base) {
    return base.isAssignableFrom(type) && (!isRead || Mapper.isContainer(type));
  }

  private boolean isKey(Type type) {
    return !isRead
        || List.of("string", "integer", "number")
            .contains(type(type).getOrDefault("type", "string"));
  }

  private Map<String, Object> plain(Class<?> type) {
    var boxed = Mapper.boxed(type);
    if (type == Object.class) {
      return new LinkedHashMap<>();
    } else if (boxed == Boolean.class) {
      return named("boolean");
    } else if (BITS.containsKey(boxed) || type == BigInteger.class || type == Duration.class) {
      return integer(type);
    } else if (isNumber(boxed)) {
      return named("number");
    } else if (type == String.class || type == byte[].class) {
      return named("string");
    } else if (StringCodec.of(type) != null) {
      var schema = named("string");
      schema.putAll(StringCodec.of(type).keywords());
      return schema;
    } else if (OptionalCodec.of(type) != null) {
      return plain(OptionalCodec.of(type).type());
    } else if (type.isEnum()) {
      return Json.object("type", "string", "enum", EnumCodec.names(type));
    } else if (type.isArray()) {
      return list(type.getComponentType());
    } else if (isContainer(type, Map.class)) {
      return named("object");
    } else if (isContainer(type, Collection.class)) {
      return named("array");
    } else if (type.isRecord()) {
      return once(Generic.of(type), this::alone);
    } else if (UnionCodec.isUnion(type)) {
      return once(Generic.of(type), this::union);
    }
    throw unknown(type);
  }

  private boolean isNumber(Class<?> type) {
    return NUMBERS.contains(type) || !isRead && Number.class.isAssignableFrom(type);
  }

  /** The schema of a record where its union is not expected. Its tag is written all the same. */
  private Map<String, Object> alone(Generic record) {
    var schema = record(record);
    var type = record.type();
    var tag = UnionCodec.tagFor(type);
    if (isRead && tag != null) {
      Mapper.objectOf(schema.get("properties"))
          .putIfAbsent(tag, Map.of("const", UnionCodec.markOf(type)));
    }
    return schema;
  }

  private Map<String, Object> record(Generic record) {
    var type = record.type();
    if (type.getTypeParameters().length != record.arguments().size()) {
      throw new InvalidArgumentException(
          type.getName() + " needs its type arguments, as in " + type.getSimpleName() + "<String>");
    }
    var schema = object(RecordCodec.of(type).members(record));
    describe(schema, type.getAnnotation(Description.class));
    return schema;
  }

  /** The schema of a class, which is a reference within itself. */
  private Map<String, Object> once(Generic type, Function<Generic, Map<String, Object>> schemaOf) {
    var reference = begin(type, type.type());
    if (reference != null) {
      return reference;
    }
    var schema = schemaOf.apply(type);
    var name = end(type, schema);
    return name == null || open.isEmpty() ? schema : reference(name);
  }

  /** Begins the schema of a class, or returns a reference to it if that is within itself. */
  final @Nullable Map<String, Object> begin(Type type, Class<?> plain) {
    if (open.size() == MAX_NESTING) {
      throw new InvalidArgumentException(type.getTypeName() + " is nested too deeply");
    } else if (open.contains(type)) {
      return reference(recursive.computeIfAbsent(type, own -> nameOf(plain)));
    }
    open.push(type);
    return null;
  }

  /** Ends the schema of a class, and returns the name of its definition if it has one. */
  final @Nullable String end(Type type, Map<String, Object> schema) {
    open.remove(type);
    var name = recursive.get(type);
    if (name != null) {
      definitions.put(name, new LinkedHashMap<>(schema));
    }
    return name;
  }

  /** A name for the definition of a class, which no other has. */
  private String nameOf(Class<?> type) {
    var name = type.getSimpleName();
    for (var count = 2; recursive.containsValue(name); count++) {
      name = type.getSimpleName() + count;
    }
    return name;
  }

  private Map<String, Object> object(List<RecordCodec.Member> members) {
    var object = Json.object("type", "object", "properties", Map.of());
    for (var member : members) {
      var schema = Failures.at(member.name(), () -> checked(member));
      member.constraints().addTo(schema);
      member(object, member, schema);
    }
    if (isRead) {
      object.put("additionalProperties", false);
    }
    return object;
  }

  private Map<String, Object> checked(RecordCodec.Member member) {
    if (member.fallback() != null) {
      Defaults.check(member);
    }
    return type(member.type());
  }

  /** Adds the property of a member to the schema of an object. */
  static void member(
      Map<String, Object> object, RecordCodec.Member member, Map<String, Object> schema) {
    var isRequired = member.isRequired();
    property(object, member.name(), schema, member.isOptional(), isRequired, member.description());
    setDefault(object, member.name(), member.fallback());
  }

  /** Adds the default of a property, if it has one. */
  static void setDefault(Map<String, Object> object, String name, @Nullable Object value) {
    if (value != null) {
      Mapper.objectOf(Mapper.objectOf(object.get("properties")).get(name)).put("default", value);
    }
  }

  /** Adds a property to the schema of an object. */
  @SuppressWarnings("unchecked")
  static void property(
      Map<String, Object> object,
      String name,
      Map<String, Object> schema,
      boolean isNullable,
      boolean isRequired,
      @Nullable String description) {
    var own = orNull(schema, isNullable);
    if (description != null) {
      own.put("description", description);
    }
    Mapper.objectOf(object.get("properties")).put(name, own);
    if (isRequired) {
      ((List<Object>) object.computeIfAbsent("required", key -> new ArrayList<>())).add(name);
    }
  }

  /** One of the records, each with its name in {@code type}. */
  private Map<String, Object> union(Generic union) {
    var type = union.type();
    var schemas = new ArrayList<Object>();
    for (var variant : UnionCodec.of(type).variants.entrySet()) {
      var record = record(Generic.of(variant.getValue()));
      if (Mapper.objectOf(record.get("properties")).containsKey("type")) {
        throw new InvalidArgumentException(
            variant.getValue().getName()
                + " has a component named type, which is the member with the name of the class");
      }
      schemas.add(tagged(record, "type", variant.getKey()));
    }
    var schema = Json.object("type", "object", "oneOf", schemas);
    describe(schema, type.getAnnotation(Description.class));
    return schema;
  }

  /** The schema of an object that a member with a constant value tells from others. */
  static Map<String, Object> tagged(Map<String, Object> schema, String tag, String value) {
    var properties = new LinkedHashMap<String, Object>(Map.of(tag, Map.of("const", value)));
    properties.putAll(Mapper.objectOf(schema.getOrDefault("properties", Map.of())));
    var required = new ArrayList<Object>(List.of(tag));
    required.addAll((List<?>) schema.getOrDefault("required", List.of()));
    schema.put("properties", properties);
    schema.put("required", required);
    return schema;
  }

  private Map<String, Object> list(Type item) {
    return Json.object("type", "array", "items", item(item));
  }

  /** The schema of a value in a collection, which may be null if it is optional. */
  private Map<String, Object> item(Type type) {
    return orNull(type(type), OptionalCodec.isOptional(type));
  }

  private static Map<String, Object> orNull(Map<String, Object> schema, boolean isNullable) {
    return isNullable ? Json.object("anyOf", List.of(schema, named("null"))) : schema;
  }

  private static void describe(Map<String, Object> schema, @Nullable Description description) {
    if (description != null) {
      schema.put("description", description.value());
    }
  }

  private static Map<String, Object> named(String type) {
    return Json.object("type", type);
  }

  /**
   * The schema of an integer, with the bounds of its type up to 32 bits. Interfaces of models
   * refuse those of 64 bits, which JSON does not represent exactly; reading checks them.
   */
  static Map<String, Object> integer(Class<?> type) {
    var bits = BITS.get(Mapper.boxed(type));
    if (bits == null || bits == Long.SIZE) {
      return named("integer");
    }
    var maximum = Long.MAX_VALUE >> (Long.SIZE - bits);
    return Json.object("type", "integer", "minimum", -maximum - 1, "maximum", maximum);
  }

  static Map<String, Object> reference(String name) {
    return Json.object("$ref", "#/" + DEFINITIONS + "/" + name);
  }

  private static InvalidArgumentException unknown(Type type) {
    return new InvalidArgumentException(
        type.getTypeName()
            + " has no JSON Schema: use records, sealed interfaces of records, enums, lists, maps,"
            + " strings, numbers, dates and times, pass a schema, or add the tool with Jackson");
  }
}

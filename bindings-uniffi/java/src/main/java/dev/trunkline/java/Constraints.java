package dev.trunkline.java;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The constraints of Jakarta Validation in JSON Schema. Annotations are recognized by name, because
 * the library does not depend on them.
 */
record Constraints(List<Annotation> annotations, AnnotatedType type) {
  private static final String PACKAGE = "jakarta.validation.constraints.";

  /** The suffixes of size keywords, by JSON type. */
  private static final Map<String, String> SIZES =
      Map.of("string", "Length", "array", "Items", "object", "Properties");

  /**
   * Adds them to the schema of a value, and those of type arguments to that of what it contains.
   */
  void addTo(Map<String, Object> schema) {
    if (type.getType() == byte[].class) {
      // Its size is not that of the string in Base64.
      return;
    }
    var own = schema.get("anyOf") instanceof List<?> orNull ? orNull.get(0) : schema;
    var present = Mapper.objectOf(own);
    annotations.forEach(constraint -> add(present, constraint));
    if (type instanceof AnnotatedParameterizedType generic) {
      var arguments = generic.getAnnotatedActualTypeArguments();
      var last = arguments[arguments.length - 1];
      var isOptional = Mapper.classOf(type.getType()) == Optional.class;
      var inner = present.getOrDefault("items", present.get("additionalProperties"));
      if ((isOptional ? present : inner) instanceof Map<?, ?> contained) {
        new Constraints(List.of(last.getAnnotations()), last).addTo(Mapper.objectOf(contained));
      }
    }
  }

  private static void add(Map<String, Object> schema, Annotation constraint) {
    var type = constraint.annotationType();
    if (!type.getName().startsWith(PACKAGE)) {
      return;
    }
    var name = type.getName().substring(PACKAGE.length());
    if (name.endsWith("$List")) {
      for (var each : (Annotation[]) of(constraint, "value")) {
        add(schema, each);
      }
    } else if (Array.getLength(of(constraint, "groups")) == 0) {
      add(schema, constraint, name);
    }
  }

  private static void add(Map<String, Object> schema, Annotation constraint, String name) {
    switch (name) {
      case "Min" -> bound(schema, "minimum", of(constraint, "value"), true);
      case "Max" -> bound(schema, "maximum", of(constraint, "value"), true);
      case "DecimalMin" ->
          bound(schema, "minimum", of(constraint, "value"), isInclusive(constraint));
      case "DecimalMax" ->
          bound(schema, "maximum", of(constraint, "value"), isInclusive(constraint));
      case "Positive" -> bound(schema, "minimum", 0, false);
      case "PositiveOrZero" -> bound(schema, "minimum", 0, true);
      case "Negative" -> bound(schema, "maximum", 0, false);
      case "NegativeOrZero" -> bound(schema, "maximum", 0, true);
      case "Size" -> size(schema, (int) of(constraint, "min"), (int) of(constraint, "max"));
      case "NotEmpty" -> size(schema, 1, Integer.MAX_VALUE);
      case "NotBlank" -> pattern(schema, "\\S");
      case "Pattern" -> {
        // JSON Schema has no flags.
        if (Array.getLength(of(constraint, "flags")) == 0) {
          pattern(schema, "^(?:" + of(constraint, "regexp") + ")$");
        }
      }
      case "Email" -> schema.putIfAbsent("format", "email");
      default -> {}
    }
  }

  private static boolean isInclusive(Annotation constraint) {
    return (boolean) of(constraint, "inclusive");
  }

  /** Adds the bound {@code minimum} or {@code maximum} of a number. */
  private static void bound(
      Map<String, Object> schema, String keyword, Object given, boolean isInclusive) {
    var bound = new BigDecimal(given.toString());
    var isMinimum = keyword.equals("minimum");
    if ("number".equals(schema.get("type"))) {
      var exclusive = isMinimum ? "exclusiveMinimum" : "exclusiveMaximum";
      narrow(schema, isInclusive ? keyword : exclusive, bound, isMinimum);
    } else if ("integer".equals(schema.get("type"))) {
      var whole = bound.setScale(0, isMinimum ? RoundingMode.CEILING : RoundingMode.FLOOR);
      var isExcluded = !isInclusive && whole.compareTo(bound) == 0;
      var step = BigDecimal.valueOf(isMinimum ? 1 : -1);
      narrow(schema, keyword, isExcluded ? whole.add(step) : whole, isMinimum);
    }
  }

  private static void size(Map<String, Object> schema, int minimum, int maximum) {
    var kind = schema.get("type") instanceof String type ? SIZES.get(type) : null;
    if (kind != null && minimum > 0) {
      narrow(schema, "min" + kind, BigDecimal.valueOf(minimum), true);
    }
    if (kind != null && maximum < Integer.MAX_VALUE) {
      narrow(schema, "max" + kind, BigDecimal.valueOf(maximum), false);
    }
  }

  /** Sets a bound, unless there is a narrower one. */
  private static void narrow(
      Map<String, Object> schema, String keyword, BigDecimal bound, boolean isMinimum) {
    var other = schema.get(keyword);
    var order = other == null ? 0 : bound.compareTo(new BigDecimal(other.toString()));
    if (other == null || (isMinimum ? order > 0 : order < 0)) {
      schema.put(keyword, bound);
    }
  }

  @SuppressWarnings("unchecked")
  private static void pattern(Map<String, Object> schema, String pattern) {
    if (schema.containsKey("pattern") && !pattern.equals(schema.get("pattern"))) {
      ((List<Object>) schema.computeIfAbsent("allOf", key -> new ArrayList<>()))
          .add(Map.of("pattern", pattern));
    } else if ("string".equals(schema.get("type"))) {
      schema.put("pattern", pattern);
    }
  }

  private static Object of(Annotation annotation, String element) {
    try {
      return annotation.annotationType().getMethod(element).invoke(annotation);
    } catch (ReflectiveOperationException reason) {
      throw new InvalidArgumentException(annotation + " cannot be read: " + reason);
    }
  }
}

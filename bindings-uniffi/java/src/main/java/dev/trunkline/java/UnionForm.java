package dev.trunkline.java;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How the records of a sealed interface are told apart. */
final class UnionForm {
  private static final ClassValue<UnionForm> FORMS =
      new ClassValue<>() {
        @Override
        protected UnionForm computeValue(Class<?> type) {
          return new UnionForm(type);
        }
      };

  private final Class<?> type;

  /** By the value of the tag, or by the member that only one has. */
  private final Map<String, Class<?>> variants = new LinkedHashMap<>();

  /** Empty if members tell them apart. */
  private final String tag;

  private final @Nullable Class<?> other;

  private UnionForm(Class<?> type) {
    this.type = type;
    var union = type.getAnnotation(Union.class);
    tag = union == null ? "type" : union.tag();
    other = union == null || union.other() == void.class ? null : union.other();
    for (var variant : type.getPermittedSubclasses()) {
      var mark = variant.getAnnotation(Variant.class);
      if (variant != other) {
        variants.put(mark == null ? variant.getSimpleName() : mark.value(), variant);
      }
    }
  }

  static UnionForm of(Class<?> type) {
    return FORMS.get(type);
  }

  /** The member that tells a record apart from others; null if its own members do, or nothing. */
  static @Nullable String tagFor(Class<?> record) {
    String tag = record.isAnnotationPresent(Variant.class) ? "type" : null;
    for (var parent : record.getInterfaces()) {
      if (parent.isSealed()) {
        var union = parent.getAnnotation(Union.class);
        tag = union == null ? "type" : union.tag();
      }
    }
    return tag == null || tag.isEmpty() ? null : tag;
  }

  Map<String, Class<?>> variants() {
    return variants;
  }

  @Nullable Object read(Map<String, Object> object) {
    for (var variant : variants.entrySet()) {
      var isIt =
          tag.isEmpty()
              ? object.containsKey(variant.getKey())
              : variant.getKey().equals(object.get(tag));
      if (isIt) {
        return RecordForm.of(variant.getValue()).read(object);
      }
    }
    if (other != null) {
      return new OtherContent(object);
    }
    var member = tag.isEmpty() ? "one of the members " : "the member " + tag + " with one of ";
    throw new IllegalArgumentException(
        "a " + type.getSimpleName() + " needs " + member + String.join(", ", variants.keySet()));
  }
}

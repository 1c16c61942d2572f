package dev.trunkline.java;

import dev.trunkline.java.model.Model;
import dev.trunkline.java.model.OtherContent;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the records of a sealed interface. */
final class UnionCodec {
  private static final ClassValue<UnionCodec> CODECS = Mapper.perClass(UnionCodec::new);

  private final Class<?> type;

  /** By the value of the tag or, without one, by a member that only this record has. */
  final Map<String, Class<?>> variants = new LinkedHashMap<>();

  /** Empty if a member identifies each record. */
  private final String tag;

  /** True if an object may match none of the records. */
  private final boolean isOpen;

  private UnionCodec(Class<?> type) {
    this.type = type;
    var union = type.getAnnotation(Model.Union.class);
    tag = union == null ? "type" : union.tag();
    isOpen = union != null && union.isOpen();
    add(type);
  }

  /** Adds the records of a sealed interface, and of those that it permits. */
  private void add(Class<?> union) {
    for (var variant : union.getPermittedSubclasses()) {
      if (isUnion(variant)) {
        add(variant);
      } else if (!variant.isRecord()) {
        throw new InvalidArgumentException(
            union.getName() + " permits " + variant.getName() + ", which is not a record");
      } else if (variant != OtherContent.class) {
        var before = variants.put(markOf(variant), variant);
        if (before != null && before != variant) {
          throw new InvalidArgumentException(
              before.getName() + " and " + variant.getName() + " have one name in JSON");
        }
      }
    }
  }

  /** Returns whether a class is a union. Enums whose constants have bodies are sealed, too. */
  static boolean isUnion(Class<?> type) {
    return type.isSealed() && !type.isEnum();
  }

  static UnionCodec of(Class<?> type) {
    return CODECS.get(type);
  }

  /** Returns what identifies a record in a union. */
  static String markOf(Class<?> record) {
    var model = record.getAnnotation(Model.class);
    return isMarked(model) ? model.value() : record.getSimpleName();
  }

  private static boolean isMarked(@Nullable Model model) {
    return model != null && !model.value().isEmpty();
  }

  /** Returns the member with the tag of a record; null if it has no tag. */
  static @Nullable String tagFor(Class<?> record) {
    String tag = isMarked(record.getAnnotation(Model.class)) ? "type" : null;
    for (var parent : record.getInterfaces()) {
      if (parent.isSealed()) {
        var union = parent.getAnnotation(Model.Union.class);
        tag = union == null ? "type" : union.tag();
      }
    }
    return tag == null || tag.isEmpty() ? null : tag;
  }

  @Nullable Object read(Map<String, Object> object) {
    var found = tag.isEmpty() ? ofMembers(object) : variants.get(object.get(tag));
    if (found != null) {
      return RecordCodec.of(found).read(object, Generic.of(found));
    }
    if (isOpen) {
      return new OtherContent(object);
    }
    var member = tag.isEmpty() ? "one of the members " : "the member " + tag + " with one of ";
    throw new IllegalArgumentException(
        "a " + type.getSimpleName() + " needs " + member + String.join(", ", variants.keySet()));
  }

  /** The record whose member the object has. With the members of several, the last one. */
  private @Nullable Class<?> ofMembers(Map<String, Object> object) {
    Class<?> found = null;
    for (var variant : variants.entrySet()) {
      if (object.get(variant.getKey()) != null) {
        found = variant.getValue();
      }
    }
    return found;
  }
}

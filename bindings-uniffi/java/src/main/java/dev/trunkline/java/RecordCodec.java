package dev.trunkline.java;

import dev.trunkline.java.model.Model;
import dev.trunkline.java.model.OtherContent;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes and reads records of a class. */
final class RecordCodec {
  /** A component of a record, or a parameter. */
  record Member(
      String name,
      Type type,
      boolean isOptional,
      boolean isOneOrList,
      boolean isOfModel,
      @Nullable String description,
      Constraints constraints,
      @Nullable Object fallback) {
    /** The member of a record with type arguments. */
    Member of(Generic record) {
      var resolved = record.resolve(type);
      return new Member(
          name,
          resolved,
          isOptional || OptionalCodec.isOptional(resolved),
          isOneOrList,
          isOfModel,
          description,
          constraints,
          fallback);
    }

    /** Returns whether the member is required. */
    boolean isRequired() {
      return !isOptional && fallback == null;
    }

    /** Its JSON in an object, or else its default. */
    @Nullable Object given(Map<String, Object> object) {
      var json = object.get(name);
      return json == null ? fallback : json;
    }

    @Nullable Object read(Map<String, Object> object) {
      var json = given(object);
      if (json == null && isOfModel && type == boolean.class) {
        return false;
      } else if (json == null && !isOptional && !isOfModel && type != Object.class) {
        throw new IllegalArgumentException(name + ": it is missing");
      }
      if (isOfModel && json instanceof Number number) {
        json = Mapper.nearest(number, type);
      }
      var isOne = isOneOrList && json != null && !(json instanceof List);
      return Mapper.at(name, isOne ? List.of(json) : json, type);
    }
  }

  private static final ClassValue<RecordCodec> CODECS = Mapper.perClass(RecordCodec::new);

  private final List<Member> members = new ArrayList<>();
  private final List<Invocation> getters = new ArrayList<>();
  private final Invocation constructor;

  private final @Nullable String tag;

  /** The value of the tag, if there is one. */
  private final String mark;

  private RecordCodec(Class<?> type) {
    var components = type.getRecordComponents();
    for (var component : components) {
      members.add(memberOf(component));
      getters.add(new Invocation(component.getAccessor(), null, type.getName()));
    }
    var types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    try {
      constructor = new Invocation(type.getDeclaredConstructor(types), null, type.getName());
    } catch (NoSuchMethodException impossible) {
      throw new IllegalStateException(impossible);
    }
    tag = UnionCodec.tagFor(type);
    mark = UnionCodec.markOf(type);
  }

  static RecordCodec of(Class<?> type) {
    return CODECS.get(type);
  }

  Object write(Record record) {
    if (record instanceof OtherContent other) {
      return other.json();
    }
    var object = new LinkedHashMap<String, Object>();
    if (tag != null) {
      object.put(tag, mark);
    }
    for (var index = 0; index < members.size(); index++) {
      var member = members.get(index);
      var component = getters.get(index).call(record);
      var value = Failures.at(member.name(), () -> Mapper.write(component));
      if (member.isOneOrList() && value instanceof List<?> list && list.size() == 1) {
        value = list.get(0);
      }
      if (value != null) {
        object.put(member.name(), value);
      }
    }
    return object;
  }

  Object read(Map<String, Object> object, Generic type) {
    return constructor.call(members(type).stream().map(member -> member.read(object)).toArray());
  }

  /** The members of the record with its type arguments. */
  List<Member> members(Generic type) {
    return type.arguments().isEmpty()
        ? members
        : members.stream().map(member -> member.of(type)).toList();
  }

  static Member memberOf(RecordComponent component) {
    return memberOf(
        component,
        component.getName(),
        component.getGenericType(),
        component.getAnnotatedType(),
        // Annotations that were made before records, such as those of Spring.
        component.getAccessor());
  }

  /** Returns a member, whose name is {@code own} unless an annotation names it. */
  static Member memberOf(
      AnnotatedElement element,
      String own,
      Type type,
      AnnotatedType annotated,
      AnnotatedElement... more) {
    var name = element.getAnnotation(JsonName.class);
    var description = element.getAnnotation(Description.class);
    var annotations =
        Stream.concat(Stream.of(element, annotated), Stream.of(more))
            .flatMap(of -> Arrays.stream(of.getAnnotations()))
            .distinct()
            .toList();
    var isOptional =
        OptionalCodec.isOptional(type)
            || annotations.stream()
                .anyMatch(
                    annotation -> annotation.annotationType().getSimpleName().equals("Nullable"));
    var json = name == null ? own : name.value();
    var fallback = element.getAnnotation(Default.class);
    return new Member(
        json,
        type,
        isOptional,
        element.isAnnotationPresent(Model.OneOrList.class),
        element instanceof RecordComponent component
            && component.getDeclaringRecord().isAnnotationPresent(Model.class),
        description == null ? null : description.value(),
        new Constraints(annotations, annotated),
        fallback == null ? null : Failures.at(json, () -> Defaults.of(fallback.value(), type)));
  }
}
